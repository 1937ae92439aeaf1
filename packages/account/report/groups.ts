import type { Cause } from '../codes/causes.ts';
import type { AttemptHistory, JobHistory, Speed } from '../history/history.ts';
import { eachSpeed, type SpeedName } from '../history/speeds.ts';
import {
  addAmounts,
  inSeconds,
  lossColumns,
  noAmounts,
  slotColumns,
  sumOver,
  type Amounts,
} from './columns.ts';
import type { AttemptRow, JobRow } from './ledger.ts';
import { causeOfLoss, LossTally } from './losses.ts';
import { secondsOf, transferRate } from './sites.ts';
import { ascending, mean, quantile, standardDeviation } from '../statistics/describe.ts';

/**
 * Attempts with something in common, such as a site or an owner. The times are those of successful attempts; so are the
 * speeds, medians that trainings of a run report.
 */
export interface GroupReport extends Record<SpeedName, number | null> {
  name: string;
  /** Jobs with an attempt in the group; of a grouping by job, all of its jobs. */
  jobs: number;
  attempts: number;
  /** Successful attempts. */
  success: number;
  /** Seconds per column. */
  slotSeconds: Amounts;
  slotTotalSeconds: number;
  usefulShare: number | null;
  lostSeconds: number;
  /** The main cause of the loss. */
  cause: Cause | null;
  computeMeanSeconds: number | null;
  computeMedianSeconds: number | null;
  computeDeviationSeconds: number | null;
  computeMinSeconds: number | null;
  computeMaxSeconds: number | null;
  /** Null also if the log has no transfer events. */
  transferMedianSeconds: number | null;
  /** The median rate of transfers; null for plugins in logs, whose bytes no event records. */
  transferBytesPerSecond: number | null;
}

/** The name of the group of a job with all its attempts, or of each attempt; undefined for none. */
export type GroupKey = (
  | { job: (job: JobHistory) => string | undefined }
  | { attempt: (attempt: AttemptHistory, job: JobHistory) => string | undefined }
) & {
  order?: (a: string, b: string) => number;
  /** Of a group by several things, the value of each. */
  valuesOf?: (name: string) => readonly string[];
};

/** The largest loss first; equal ones in the order of the key, or as their jobs are. */
export function groupReports(
  jobs: readonly JobHistory[],
  rows: readonly JobRow[],
  key: GroupKey,
  hasTransfers: boolean,
): GroupReport[] {
  const tallies = new Map<string, Tally>();
  const tallyOf = (name: string | undefined): Tally | undefined => {
    if (name === undefined) return undefined;
    let tally = tallies.get(name);
    if (tally === undefined) tallies.set(name, (tally = new Tally()));
    return tally;
  };
  const [keyOfJob, keyOfAttempt] = 'job' in key ? [key.job, undefined] : [undefined, key.attempt];
  jobs.forEach((job, index) => {
    const row = rows[index];
    if (row === undefined) return;
    const whole = keyOfJob && tallyOf(keyOfJob(job));
    whole?.addJob(job, row);
    // A loop, because a function for each of many jobs takes memory.
    for (let at = 0; at < job.attempts.length; at++) {
      const attempt = job.attempts[at];
      const own = row.attempts[at];
      if (attempt === undefined || own === undefined) continue;
      const tally = keyOfAttempt === undefined ? whole : tallyOf(keyOfAttempt(attempt, job));
      tally?.addAttempt(job, attempt, own);
      if (tally !== whole && tally !== undefined) addAmounts(tally.sum, own.millis);
    }
  });
  const order = key.order ?? (() => 0);
  return [...tallies]
    .map(([name, tally]) => tally.report(name, hasTransfers))
    .sort((a, b) => b.lostSeconds - a.lostSeconds || b.attempts - a.attempts || order(a.name, b.name));
}

/** Adds up a group; of successful attempts it keeps the figures that medians need. */
class Tally {
  readonly sum = noAmounts();
  readonly #causes = new LossTally<Cause>();
  /** Of jobs that never had a slot. */
  #cause: Cause | undefined;
  readonly #compute: number[] = [];
  readonly #transfer: number[] = [];
  readonly #rates: number[] = [];
  readonly #speeds: Speed[] = [];
  #jobs = 0;
  #attempts = 0;
  #latest: JobHistory | undefined;

  /** All time of a job, also while it had no slot. */
  addJob(job: JobHistory, { millis }: JobRow): void {
    this.#meet(job);
    addAmounts(this.sum, millis);
    if (job.attempts.length === 0) this.#cause ??= job.cause;
  }

  addAttempt(job: JobHistory, attempt: AttemptHistory, row: AttemptRow): void {
    this.#meet(job);
    this.#attempts += 1;
    this.#causes.add(causeOfLoss(job, row), row);
    if (!row.good) return;
    this.#compute.push(secondsOf(attempt, 'training'));
    this.#transfer.push(secondsOf(attempt, 'fetching'));
    for (const rate of transferRate(attempt)) this.#rates.push(rate);
    if (attempt.speed !== undefined) this.#speeds.push(attempt.speed);
  }

  /** Attempts of a job follow each other, so the latest one is enough to count jobs. */
  #meet(job: JobHistory): void {
    if (this.#latest !== job) this.#jobs += 1;
    this.#latest = job;
  }

  report(name: string, hasTransfers: boolean): GroupReport {
    const slotSeconds = inSeconds(this.sum);
    const slotTotalSeconds = sumOver(slotSeconds, slotColumns);
    const compute = ascending(this.#compute);
    return {
      name,
      jobs: this.#jobs,
      attempts: this.#attempts,
      success: compute.length,
      slotSeconds,
      slotTotalSeconds,
      usefulShare: slotTotalSeconds === 0 ? null : slotSeconds.usefulCompute / slotTotalSeconds,
      lostSeconds: sumOver(slotSeconds, lossColumns),
      cause: this.#causes.worst()?.name ?? this.#cause ?? null,
      computeMeanSeconds: mean(compute),
      computeMedianSeconds: quantile(compute, 0.5),
      computeDeviationSeconds: standardDeviation(compute),
      computeMinSeconds: compute[0] ?? null,
      computeMaxSeconds: compute.at(-1) ?? null,
      transferMedianSeconds: hasTransfers ? quantile(ascending(this.#transfer), 0.5) : null,
      transferBytesPerSecond: quantile(ascending(this.#rates), 0.5),
      ...eachSpeed((name) => quantile(ascending(this.#speeds.flatMap((one) => one[name] ?? [])), 0.5)),
    };
  }
}
