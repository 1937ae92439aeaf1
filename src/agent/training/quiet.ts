import { Fault } from '../../fault/fault.ts';
import { formatDuration } from '@updraft/base';

/** What a training did while it showed no sign of life. */
export interface QuietPeriod {
  /** Without any output or progress report. */
  seconds: number;
  processes: number;
  /** CPU time of its processes meanwhile. */
  cpuSeconds: number;
  /** The highest utilization of its GPUs that was sampled; undefined if it cannot be read. */
  gpuPercent: number | undefined;
}

/** If the user set no limit: a training that neither prints nor does anything for this long has hung. */
const idleLimitSeconds = 3600;
/** A training that works silently gets this multiple of the limit: libraries that wait for each other spin, too. */
const busyFactor = 3;
/** Waiting costs less than this share of a core. */
const idleShare = 0.05;
const idlePercent = 5;

/** Seconds of silence after which this training counts as hung; Infinity for a busy one, if the user set no limit. */
export function quietLimit(quiet: QuietPeriod, asked: number | undefined): number {
  if (isBusy(quiet)) return asked === undefined ? Infinity : asked * busyFactor;
  return asked ?? idleLimitSeconds;
}

const isBusy = ({ seconds, cpuSeconds, gpuPercent = 0 }: QuietPeriod): boolean =>
  cpuSeconds > seconds * idleShare || gpuPercent > idlePercent;

/** The training hangs: what was seen, and where. */
export function hangFault(job: string, host: string, quiet: QuietPeriod): Fault {
  const { seconds, processes, cpuSeconds, gpuPercent } = quiet;
  const used = `its ${processes === 1 ? 'process' : `${processes} processes`} used ${cpuSeconds.toFixed(1)} s of CPU`;
  const gpu = gpuPercent === undefined ? '' : ` and at most ${gpuPercent} % of the GPU`;
  const silent = `the training of job ${job} on ${host} printed nothing and reported no progress for ${formatDuration(Math.round(seconds))}`;
  const fix = isBusy(quiet)
    ? 'print or report progress in the training, which is busy, or raise `quiet_limit`'
    : 'see its last lines in err.log; if it has to wait this long, raise `quiet_limit`';
  return new Fault('training-hung', `${silent}; meanwhile ${used}${gpu}`, { fix, about: job });
}
