import { Fault } from '../fault/fault.ts';
import type { AttemptHistory, JobHistory } from '../history/history.ts';
import { formatSize, given } from '@updraft/base';
import { stoppedEarly } from '../journal/describe-attempt.ts';
import { jobName, type JobName } from './job-names.ts';
import { secondsOf } from './sites.ts';
import { formatSeconds } from '@updraft/view/format';
import { ascending, quantile } from '../statistics/describe.ts';

/** What the user knows about results of jobs with exit code 0. */
export interface Validity {
  /** True for a valid result. */
  valid?: (figures: Figures) => boolean;
  /** Jobs or nodes whose result is wrong. */
  invalid?: ReadonlySet<string>;
}

/** What a job returned, and how long its last attempt computed. */
interface Figures {
  bytes: number | undefined;
  seconds: number;
}

/** A job with exit code 0 that differs from similar jobs so much that it may have no result. */
export interface Suspect extends JobName {
  sentBytes: number | null;
  computeSeconds: number;
  why: string;
}

export interface Judged {
  jobs: JobHistory[];
  suspects: Suspect[];
}

/** Applies what the user knows about results, and finds suspicious successes. */
export function judgeJobs(jobs: readonly JobHistory[], { valid, invalid = new Set() }: Validity): Judged {
  const judged = jobs.map((job) => {
    if (job.outcome !== 'success') return job;
    const isListed = invalid.has(job.id) || (job.node !== undefined && invalid.has(job.node));
    return isListed || valid?.(figuresOf(job)) === false ? asWrongOutput(job) : job;
  });
  return { jobs: judged, suspects: valid === undefined ? suspectsOf(judged) : [] };
}

export function asWrongOutput(job: JobHistory): JobHistory {
  const wrong = { ending: 'wrong-output', cause: 'wrong-output' } as const;
  const attempts = job.attempts.with(-1, { ...(job.attempts.at(-1) as AttemptHistory), ...wrong });
  return { ...job, attempts, outcome: 'wrong-output', cause: 'wrong-output' };
}

function figuresOf({ attempts }: JobHistory): Figures {
  const last = attempts.at(-1);
  return { bytes: last?.sentBytes, seconds: last === undefined ? 0 : secondsOf(last, 'training') };
}

/** Fewer jobs have no meaningful median. */
const minAlike = 8;
/** A job below this share of the median stands out, unless many do or others come close. */
const [littleTime, fewBytes] = [0.1, 0.01];
const maxOdd = 0.1;
const gap = 2;
/** Jobs that usually take or return less than this differ by chance. */
const [minSeconds, minBytes] = [60, 10_000];

function suspectsOf(jobs: readonly JobHistory[]): Suspect[] {
  // A trial that was stopped early is short, and says so.
  const good = jobs.filter(
    (job) => job.outcome === 'success' && job.attempts.length > 0 && stoppedEarly(job) === undefined,
  );
  return [...Map.groupBy(good, kindOf).values()].flatMap((alike) => {
    const figures = alike.map(figuresOf);
    const seconds = standout(
      figures.map((each) => each.seconds),
      littleTime,
      minSeconds,
    );
    const bytes = standout(
      figures.map((each) => each.bytes),
      fewBytes,
      minBytes,
    );
    if (seconds === undefined && bytes === undefined) return [];
    return alike.flatMap((job, index): Suspect[] => {
      const own = figures[index] ?? { bytes: undefined, seconds: 0 };
      const why = given(
        bytes !== undefined &&
          (own.bytes ?? Infinity) <= bytes.max &&
          `returned ${formatSize(own.bytes ?? 0)}, others ${formatSize(bytes.median)}`,
        seconds !== undefined &&
          own.seconds <= seconds.max &&
          `ran for ${formatSeconds(own.seconds)}, others for ${formatSeconds(seconds.median)}`,
      );
      if (why.length === 0) return [];
      const { bytes: sentBytes = null, seconds: computeSeconds } = own;
      return [{ ...jobName(job), sentBytes, computeSeconds, why: why.join('; ') }];
    });
  });
}

/** Jobs of one cluster are alike, and so are DAG nodes whose names differ only in numbers. */
const kindOf = ({ id, node }: JobHistory): string =>
  node === undefined ? id.slice(0, id.indexOf('.')) : `node ${node.replaceAll(/\d+/g, '#')}`;

/** The largest of the few values that are far below all others, if there are any. */
function standout(
  values: readonly (number | undefined)[],
  share: number,
  min: number,
): { max: number; median: number } | undefined {
  const known = ascending(values.filter((value) => value !== undefined));
  const median = quantile(known, 0.5) ?? 0;
  const odd = known.filter((value) => value < median * share);
  const max = odd.at(-1);
  const next = known[odd.length];
  if (known.length < minAlike || median < min || max === undefined || next === undefined) return undefined;
  return odd.length <= known.length * maxOdd && next >= max * gap ? { max, median } : undefined;
}

const comparison = /^(bytes|seconds)\s*(>=|<=|>|<|==)\s*(\d+(?:\.\d+)?)\s*([kMGT]?)B?$/;
const sizes: Record<string, number> = { '': 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12 };

/** Parses `bytes>1M && seconds>=600`. A job whose figure the log lacks is not valid. */
export function readValid(text: string): NonNullable<Validity['valid']> {
  const parts = text.split('&&').map((part) => {
    const [, name, sign = '', figure = '', unit = ''] = comparison.exec(part.trim()) ?? [];
    if (name === undefined)
      throw new Fault('usage', `--valid: "${part.trim()}" is not a comparison`, {
        fix: "compare bytes or seconds with a number, as in --valid 'bytes>1M && seconds>600'",
      });
    const limit = Number(figure) * (sizes[unit] ?? 1);
    return (figures: Figures): boolean => {
      const value = figures[name as keyof Figures];
      if (value === undefined) return false;
      if (sign === '==') return value === limit;
      if (value === limit) return sign.endsWith('=');
      return sign.startsWith('>') ? value > limit : value < limit;
    };
  });
  return (figures) => parts.every((part) => part(figures));
}
