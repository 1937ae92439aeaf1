import type { JobState, RunState } from '../journal/state.ts';
import { cacheReports, type CacheReport } from './log/cache-reports.ts';
import { ledgerOf, noFacts } from './log/event-ledger.ts';
import { failureReports, type FailureReport } from './log/failure-reports.ts';
import type { ResourceReport } from './log/resource-reports.ts';
import { runJobs } from './log/run-jobs.ts';
import { runResources, type RunContext } from './log/run-resources.ts';
import { siteReports, type SiteReport } from './log/site-reports.ts';
import { ascending, mean, quantile } from './statistics.ts';
import { columns, ledger, type Column, type LedgerRow, type Millis } from './ledger.ts';

/**
 * A run's report as data: what `report --json` prints. The keys are stable; new ones may be added.
 * Times are seconds; shares are between 0 and 1, and null where there is nothing to divide by.
 */
export interface Summary {
  format: 1;
  run: string;
  name: string;
  pool: string;
  createdAt: string | null;
  endedAt: string | null;
  /** `removed` were stopped by the user; `held` is always 0 where the pool knows no hold. */
  jobs: {
    total: number;
    success: number;
    wrongOutput: number;
    failed: number;
    evicted: number;
    lost: number;
    held: number;
    removed: number;
    running: number;
    waiting: number;
  };
  slotSeconds: Record<Column, number>;
  /** Training that led to a result, of all time on slots (the queue is not on a slot). */
  usefulShare: number | null;
  /** From a job's first start to its valid result. */
  completion: { meanSeconds: number | null; medianSeconds: number | null; p95Seconds: number | null };
  /** Jobs that ended or are held without a valid result, by cause; the shares add up to 1. */
  failures: FailureReport[];
  /** By the jobs whose last attempt was there. */
  sites: SiteReport[];
  caches: CacheReport[];
  resources: ResourceReport[];
  attempts: AttemptSummary[];
  garbledLines: number;
}

export interface AttemptSummary {
  job: string;
  attempt: number;
  outcome: LedgerRow['outcome'];
  host: string;
  site: string;
  seconds: Record<Column, number>;
  totalSeconds: number;
}

export function summary(state: RunState, context: RunContext = {}): Summary {
  const logged = runJobs(state, context);
  const { rows, sum } = ledger(state);
  const { sum: columnSum, slotMillis } = ledgerOf(logged, noFacts);
  const { tally } = state;
  return {
    format: 1,
    run: state.run,
    name: state.name,
    pool: state.pool,
    createdAt: state.createdAt ?? null,
    endedAt: state.endedAt ?? null,
    jobs: {
      total: tally.total,
      success: tally.success,
      wrongOutput: tally['wrong-output'],
      failed: tally.failed,
      evicted: tally.evicted,
      lost: tally.lost,
      held: 0,
      removed: tally.stopped,
      running: tally.running,
      waiting: tally.waiting,
    },
    slotSeconds: inSeconds(sum),
    usefulShare: slotMillis === 0 ? null : columnSum.usefulCompute / slotMillis,
    completion: completion(state.jobs),
    failures: failureReports(logged),
    sites: siteReports(logged),
    caches: cacheReports(logged),
    resources: runResources(logged, context),
    attempts: rows.map(({ millis, total, ...row }) => ({
      ...row,
      seconds: inSeconds(millis),
      totalSeconds: total / 1000,
    })),
    garbledLines: state.garbled,
  };
}

function inSeconds(millis: Millis): Record<Column, number> {
  return Object.fromEntries(columns.map((column) => [column, millis[column] / 1000])) as Record<
    Column,
    number
  >;
}

function completion(jobs: readonly JobState[]): Summary['completion'] {
  const spans = ascending(jobs.flatMap(completionSeconds));
  return {
    meanSeconds: toMillis(mean(spans)),
    medianSeconds: toMillis(quantile(spans, 0.5)),
    p95Seconds: toMillis(quantile(spans, 0.95)),
  };
}

function completionSeconds(job: JobState): number[] {
  const from = job.attempts[0]?.startedAt;
  if (job.outcome !== 'success' || from === undefined || job.endedAt === undefined) return [];
  return [Math.max(0, Date.parse(job.endedAt) - Date.parse(from)) / 1000];
}

/** Journals know milliseconds; more figures would only be noise. */
const toMillis = (seconds: number | null): number | null =>
  seconds === null ? null : Math.round(seconds * 1000) / 1000;
