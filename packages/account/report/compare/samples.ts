import type { AttemptHistory, JobHistory } from '../../history/history.ts';
import type { Speeds } from '../../history/speeds.ts';
import { slotColumns, sumOver, type Amounts } from '../columns.ts';
import type { GroupKey } from '../groups.ts';
import { validity } from '../job-table.ts';
import type { JobRow } from '../ledger.ts';
import type { ReadLogs } from '../read-logs.ts';
import { unknownSite } from '../sites.ts';

/** One of those that are compared: a job, or an attempt if attempts are grouped. */
export interface ComparedSample {
  job: string;
  /** Whether it has a valid result; null if that is not decided. */
  isValid: boolean | null;
  /** From its first match, or of an attempt on its slot, to its end; while it has none, to that of its log. */
  seconds: number;
  slotSeconds: number;
  /** Slot time times the GPUs of the slot; null if it has none, or nothing says how many. */
  gpuSeconds: number | null;
  /** On the slot: transfers, also those that failed, and training that waited for data. */
  transferSeconds: number;
  usefulShare: number | null;
  /** What the training, of a job the last one, ran with, where it is known. */
  speed: Speeds;
  /** How often a server was given up; null where nothing says. */
  setbacks: number | null;
  metrics: Readonly<Record<string, number>>;
  best: Readonly<Record<string, number>>;
}

export interface SampleGroup {
  name: string;
  samples: ComparedSample[];
}

/** In the order of the key; what has no name comes last. */
export function sampleGroups({ jobs, ledger }: ReadLogs, key: GroupKey): SampleGroup[] {
  const groups = new Map<string, ComparedSample[]>();
  const add = (name: string | undefined, sample: ComparedSample): void => {
    const samples = groups.get(name ?? unknownSite) ?? [];
    groups.set(name ?? unknownSite, samples);
    samples.push(sample);
  };
  const usual = usualGpus(jobs);
  const ends = endsOfLogs(jobs);
  jobs.forEach((job, index) => {
    const row = ledger.rows[index];
    if (row === undefined) return;
    const gpusOf = gpuCount(job, usual);
    const unseenMillis = openOutcomes.has(job.outcome) ? (ends.get(job.log) ?? job.to) - job.to : 0;
    if ('job' in key) add(key.job(job), jobSample(job, row, gpusOf, unseenMillis));
    else
      job.attempts.forEach((attempt, at) => {
        add(key.attempt(attempt, job), attemptSample(job, row, at, gpusOf, unseenMillis));
      });
  });
  const isUnknown = (name: string): number => (name === unknownSite ? 1 : 0);
  return [...groups]
    .map(([name, samples]) => ({ name, samples }))
    .sort((a, b) => isUnknown(a.name) - isUnknown(b.name) || (key.order?.(a.name, b.name) ?? 0));
}

const openOutcomes: ReadonlySet<JobHistory['outcome']> = new Set(['running', 'waiting']);

/** When anything of each log or run was last seen: jobs without an end were watched until then. */
function endsOfLogs(jobs: readonly JobHistory[]): Map<string | undefined, number> {
  const ends = new Map<string | undefined, number>();
  for (const { log, to } of jobs) ends.set(log, Math.max(to, ends.get(log) ?? to));
  return ends;
}

type GpuCount = (attempt: AttemptHistory) => number | undefined;

/**
 * An attempt that never executed names no GPUs: its slot had as many as the job's other ones, or as those of its log if
 * none executed. A job that executed without any GPU has none.
 */
function gpuCount({ attempts, log }: JobHistory, usual: ReadonlyMap<string, Set<number>>): GpuCount {
  const own = attempts.find(({ gpus }) => gpus !== undefined)?.gpus;
  const hasExecuted = attempts.some(({ spans }) => spans.some(({ doing }) => doing === 'training'));
  const [ofLog, ...others] = hasExecuted ? [] : (usual.get(log ?? '') ?? []);
  return ({ gpus }) => gpus ?? own ?? (others.length === 0 ? ofLog : undefined);
}

/** The numbers that the attempts of each log have, as far as they are known. */
function usualGpus(jobs: readonly JobHistory[]): Map<string, Set<number>> {
  const known = new Map<string, Set<number>>();
  for (const { attempts, log = '' } of jobs)
    for (const { gpus } of attempts)
      if (gpus !== undefined) known.set(log, (known.get(log) ?? new Set()).add(gpus));
  return known;
}

function jobSample(job: JobHistory, row: JobRow, gpusOf: GpuCount, unseenMillis: number): ComparedSample {
  const { id, metrics = {}, best = {}, attempts, from, to } = job;
  // Of one that just started, nothing else is known.
  const matched = attempts[0]?.spans[0]?.from ?? (job.outcome === 'running' ? to - from : undefined);
  const slots = row.attempts.map(({ millis }, at) => {
    const attempt = attempts[at];
    return { seconds: onSlot(millis), gpus: attempt && gpusOf(attempt) };
  });
  const isCounted = slots.some(({ gpus = 0 }) => gpus > 0);
  const gpuSeconds = slots.reduce((sum, { seconds, gpus = 0 }) => sum + seconds * gpus, 0);
  return {
    job: id,
    isValid: validity(row.outcome),
    seconds:
      (row.completionMillis ?? (matched === undefined ? 0 : to - from - matched + unseenMillis)) / 1000,
    gpuSeconds: isCounted ? gpuSeconds : null,
    ...figuresOf(row.millis),
    speed: attempts.at(-1)?.speed ?? {},
    setbacks: setbacksOf(attempts),
    metrics,
    best,
  };
}

function attemptSample(
  job: JobHistory,
  { attempts }: JobRow,
  at: number,
  gpusOf: GpuCount,
  unseenMillis: number,
): ComparedSample {
  const [row, attempt] = [attempts[at], job.attempts[at]];
  if (row === undefined || attempt === undefined) throw new Error(`job ${job.id} has no attempt ${at + 1}`);
  const [slot, gpus] = [onSlot(row.millis), gpusOf(attempt)];
  const isOpen = row.ending === 'running' || (row.ending === 'success' && !row.good);
  // What the training measured is known of the job: it belongs to the attempt that made the result.
  const { metrics = {}, best = {} } = row.good ? job : {};
  return {
    job: job.id,
    isValid: isOpen ? null : row.good,
    seconds: slot + (row.ending === 'running' ? unseenMillis / 1000 : 0),
    gpuSeconds: gpus === undefined || gpus === 0 ? null : slot * gpus,
    ...figuresOf(row.millis),
    speed: attempt.speed ?? {},
    setbacks: setbacksOf([attempt]),
    metrics,
    best,
  };
}

function setbacksOf(attempts: readonly AttemptHistory[]): number | null {
  const known = attempts.flatMap(({ caches }) => (caches === undefined ? [] : [caches])).flat();
  return known.length === 0 ? null : known.reduce((sum, { setbacks }) => sum + setbacks, 0);
}

const onSlot = (millis: Amounts): number => sumOver(millis, slotColumns) / 1000;

function figuresOf(millis: Amounts): Pick<ComparedSample, 'slotSeconds' | 'transferSeconds' | 'usefulShare'> {
  const slotSeconds = onSlot(millis);
  return {
    slotSeconds,
    transferSeconds: (millis.usefulTransfer + millis.retriedTransfer + millis.waitingForData) / 1000,
    usefulShare: slotSeconds === 0 ? null : millis.usefulCompute / 1000 / slotSeconds,
  };
}
