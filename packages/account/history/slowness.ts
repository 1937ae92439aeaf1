import { counted, formatDuration } from '@updraft/base';
import { formatBytesPerSecond, formatPerSecond, formatShare } from '@updraft/view/format';
import type { Metrics } from '../journal/entry.ts';
import { idleSeconds } from '../journal/silence.ts';
import type { AttemptHistory } from './history.ts';

/** What made an attempt slow: its figures, and what helps. */
export interface Slowness {
  what: 'data' | 'disk' | 'neighbours' | 'cores' | 'one-core' | 'idle' | 'idle-gpu';
  figures: string;
  advice: string;
}

/** A shorter time shows only how it began. */
const minSeconds = 20;
/** A GPU that is busier has what it needs. */
const busyPercent = 50;

/** What made an attempt slow, or its GPU idle at last; undefined if nothing known. */
export function slownessOf(attempt: AttemptHistory): Slowness | undefined {
  const idle = idleSeconds(attempt.agent);
  const lack = lackOf(attempt);
  if (idle === undefined || lack !== undefined) return lack;
  return {
    what: 'idle-gpu',
    figures: `its GPU was idle for ${formatDuration(idle)} at last, although it printed`,
    advice: 'See in its log what it did then. `idle_limit` in [train] ends such an attempt.',
  };
}

/** What an attempt lacked whose GPU, or without one whose cores, had little to do. */
function lackOf({ agent, cpus = 1, gpus = 0 }: AttemptHistory): Slowness | undefined {
  const { load, gpuUse, training, millis } = agent ?? {};
  if (load === undefined || load.seconds < minSeconds) return undefined;
  if (gpus > 0 && (gpuUse === undefined || gpuUse.percent >= busyPercent)) return undefined;
  const gpu = gpus > 0 ? `its GPU was ${Math.round(gpuUse?.percent ?? 0)} % busy, and ` : '';
  const [cores, queued] = [load.used / load.seconds, load.queued / load.seconds];
  const [processes, blocked] = [load.processes / load.samples, load.blocked / load.samples];
  const { waited = 0, waitedBefore = 0 } = training ?? {};
  const waiting = (1000 * (waited + waitedBefore)) / (millis?.training ?? Infinity);
  const them = processes < 1.5 ? 'its process' : `its ${Math.round(processes)} processes`;
  const used = `${them} used ${cores.toFixed(1)} of ${counted(cpus, 'core')}`;
  const found = (what: Slowness['what'], figures: string, advice: string): Slowness => ({
    what,
    advice,
    figures: `${gpu}${figures}${probed(what, agent?.slot)}`,
  });
  if (waiting > 0.25)
    return found(
      'data',
      `it waited for data for ${formatShare(waiting)} of its training`,
      'Run fewer jobs at once, or `updraft stage` the data as shards.',
    );
  if (blocked > 0.5)
    return found(
      'disk',
      `${blocked.toFixed(1)} of ${them} waited for the disk at any time`,
      'Read fewer, larger files (`[data]` with shards), or copy what is read often to /dev/shm.',
    );
  if (queued > 0.3 && cores < 0.8 * cpus)
    return found(
      'neighbours',
      `${used}, and waited for ${queued.toFixed(1)} more: others use them`,
      'Avoid this machine: `requirements` in [run].',
    );
  if (gpus > 0 && cores >= 0.8 * cpus)
    return found('cores', used, 'Decode on the GPU, or request more `cpus`.');
  if (gpus > 0 && cores >= 0.8)
    return found('one-core', used, 'Give the loader more processes (`num_workers`), or decode on the GPU.');
  if (cores < 0.25)
    return found(
      'idle',
      `${used}, and waited for neither core nor disk`,
      'Let more processes load data (`num_workers`), or let [data] bring it before.',
    );
  return undefined;
}

/** What was measured of the slot before the training used it, of what the training lacked. */
function probed(what: Slowness['what'], slot: Metrics = {}): string {
  const { diskBytesPerSecond: disk, imagesPerSecond: images, memoryBytesPerSecond: memory } = slot;
  const found = {
    disk: disk && `its disk wrote ${formatBytesPerSecond(disk)}`,
    cores: images && `a core decoded ${formatPerSecond(images)} JPEG images per second`,
    neighbours: memory && `a core copied ${formatBytesPerSecond(memory)}`,
  };
  const text = found[what === 'one-core' ? 'cores' : (what as keyof typeof found)];
  return text === undefined ? '' : `; at first ${text}`;
}
