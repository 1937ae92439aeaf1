import { ascending, mean, quantile, standardDeviation } from './statistics.ts';
import type { Doing, AttemptHistory, JobHistory } from '../history/history.ts';

/** A site, by the jobs whose last attempt was there; the times are of those that ended well. */
export interface SiteReport {
  name: string;
  jobs: number;
  success: number;
  computeMeanSeconds: number | null;
  computeMedianSeconds: number | null;
  computeDeviationSeconds: number | null;
  computeMinSeconds: number | null;
  computeMaxSeconds: number | null;
  transferMedianSeconds: number | null;
  /** At the median, of what HTCondor itself moved; null where plugins did, since no event says how much. */
  transferBytesPerSecond: number | null;
}

/** Less than this is the scripts of a job whose data came another way. */
const fewBytes = 1_000_000;

/** The site of an attempt; where the log names none at all, its machine. */
export function siteNames(jobs: readonly JobHistory[]): (attempt: AttemptHistory) => string {
  const named = jobs.some(({ attempts }) => attempts.some(({ site }) => site !== ''));
  return ({ site, machine }) => (named ? site : machine) || 'not told';
}

export const secondsOf = ({ spans }: AttemptHistory, wanted: Doing): number =>
  spans.reduce((sum, { doing, from, to }) => sum + (doing === wanted ? to - from : 0), 0) / 1000;

export function siteReports(jobs: readonly JobHistory[]): SiteReport[] {
  const nameOf = siteNames(jobs);
  const placed = jobs.flatMap(({ outcome, attempts }) => {
    const last = attempts.at(-1);
    return last === undefined ? [] : [{ last, good: outcome === 'success' }];
  });
  return [...Map.groupBy(placed, ({ last }) => nameOf(last))]
    .map(([name, here]) =>
      siteReport(
        name,
        here.length,
        here.filter(({ good }) => good).map(({ last }) => last),
      ),
    )
    .sort((a, b) => b.jobs - a.jobs || a.name.localeCompare(b.name));
}

function siteReport(name: string, jobs: number, good: readonly AttemptHistory[]): SiteReport {
  const compute = ascending(good.map((attempt) => secondsOf(attempt, 'executing')));
  const transfer = ascending(good.map((attempt) => secondsOf(attempt, 'input')));
  const rates = ascending(good.flatMap(transferRate));
  return {
    name,
    jobs,
    success: good.length,
    computeMeanSeconds: mean(compute),
    computeMedianSeconds: quantile(compute, 0.5),
    computeDeviationSeconds: standardDeviation(compute),
    computeMinSeconds: compute[0] ?? null,
    computeMaxSeconds: compute.at(-1) ?? null,
    transferMedianSeconds: quantile(transfer, 0.5),
    transferBytesPerSecond: quantile(rates, 0.5),
  };
}

/** Bytes per second of an attempt's input, where that can be told. */
export function transferRate(attempt: AttemptHistory): number[] {
  const { receivedBytes = 0 } = attempt;
  const seconds = secondsOf(attempt, 'input');
  return receivedBytes < fewBytes || seconds === 0 ? [] : [receivedBytes / seconds];
}
