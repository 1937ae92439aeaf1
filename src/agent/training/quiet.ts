import { Fault } from '../../fault/fault.ts';
import { formatDuration } from '../../job/units.ts';

/** What was seen of a training while it showed no sign of life. */
export interface QuietPeriod {
  /** Without a line printed and without a word of progress. */
  seconds: number;
  processes: number;
  /** That its processes used meanwhile. */
  cpuSeconds: number;
  /** The most that its GPUs were used at the moments they were looked at; undefined where it cannot be read. */
  gpuPercent: number | undefined;
}

/** Where the user set no limit: a training that neither speaks nor does anything for so long does not come back. */
const idleLimitSeconds = 3600;
/** A training that works without a word gets so many times the patience: libraries that wait for each other spin, too. */
const busyFactor = 3;
/** Less than this share of a core is what waiting costs. */
const idleShare = 0.05;
const idlePercent = 5;

/** Seconds of silence after which this training hangs; Infinity for one that works, where the user set no limit. */
export function quietLimit(quiet: QuietPeriod, asked: number | undefined): number {
  if (isBusy(quiet)) return asked === undefined ? Infinity : asked * busyFactor;
  return asked ?? idleLimitSeconds;
}

function isBusy({ seconds, cpuSeconds, gpuPercent = 0 }: QuietPeriod): boolean {
  return cpuSeconds > seconds * idleShare || gpuPercent > idlePercent;
}

/** The training hangs: what was seen, and where. */
export function hangFault(job: string, host: string, quiet: QuietPeriod): Fault {
  const { seconds, processes, cpuSeconds, gpuPercent } = quiet;
  const used = `its ${processes === 1 ? 'process' : `${processes} processes`} used ${cpuSeconds.toFixed(1)} s of CPU`;
  const gpu = gpuPercent === undefined ? '' : ` and at most ${gpuPercent} % of the GPU`;
  const silent = `the training of job ${job} on ${host} printed nothing and told no progress for ${formatDuration(Math.round(seconds))}`;
  const fix = isBusy(quiet)
    ? 'it works, but shows nothing of it: let it print or tell its progress, or raise `quiet_limit`'
    : 'see its last lines in err.log; if it has to wait for so long, raise `quiet_limit`';
  return new Fault('training-hung', `${silent}; meanwhile ${used}${gpu}`, { fix, about: job });
}
