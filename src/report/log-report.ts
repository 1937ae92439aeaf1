import { ascending, mean, quantile } from './statistics.ts';
import type { Cause } from '../codes/causes.ts';
import { cacheReports, type CacheReport } from './cache-reports.ts';
import { columns, lossColumns, sumOver, type Amounts, type Column } from './columns.ts';
import type { EventLedger, JobRow } from './event-ledger.ts';
import { failureReports, type FailureReport } from './failure-reports.ts';
import { groupReports, type GroupReport } from './group-reports.ts';
import type { JobOutcome, JobHistory } from '../history/history.ts';
import { resourceReports, type ResourceReport } from './resource-reports.ts';
import { siteReports, type SiteReport } from './site-reports.ts';

/**
 * A report on the jobs of event logs: what `report --json` prints. The keys are stable; new ones may be added.
 * Times are seconds; shares are between 0 and 1, and null where there is nothing to divide by.
 */
export interface LogReport {
  format: 1;
  /** The logs, as they were named. */
  logs: string[];
  firstEventAt: string | null;
  lastEventAt: string | null;
  events: number;
  /** The parts add up to `total`. `held`: held when the log ends. `running`: on a slot then. `waiting`: on none. */
  jobs: { total: number } & Record<JobOutcome, number>;
  attempts: number;
  /** Seconds per column of the ledger; of these, `queued`, `idle` and `held` are on no slot. */
  slotSeconds: Record<Column, number>;
  /** All that was on slots. */
  slotTotalSeconds: number;
  /** Compute that led to a good end, of all time on slots. */
  usefulShare: number | null;
  /** From a job's first match to its good end. */
  completion: { meanSeconds: number | null; medianSeconds: number | null; p95Seconds: number | null };
  /** Jobs that are over or held without a good end, by cause; the shares add up to 1. */
  failures: FailureReport[];
  /** Attempts that did not go well, also of jobs that did in the end, by cause. */
  setbacks: { cause: Cause; attempts: number; lostSeconds: number }[];
  sites: SiteReport[];
  /** The time on slots by machine, and by the models of its GPUs; the ones that lost most first. */
  machines: GroupReport[];
  gpus: GroupReport[];
  /** What each cache gave to a run; no event of a log tells, so it is empty there. */
  caches: CacheReport[];
  resources: ResourceReport[];
  slowest: { job: string; seconds: number }[];
  mostWasteful: { job: string; outcome: JobOutcome; attempts: number; lostSeconds: number; mostly: Column }[];
  /** What a reader of the figures should know about the logs. */
  notes: string[];
}

const listed = 10;

export function logReport(
  logs: string[],
  jobs: readonly JobHistory[],
  ledger: EventLedger,
  notes: string[],
): LogReport {
  const { facts, sum, rows, slotMillis } = ledger;
  const when = (time: number | undefined) => (time === undefined ? null : new Date(time).toISOString());
  return {
    format: 1,
    logs,
    firstEventAt: when(facts.firstTime),
    lastEventAt: when(facts.lastTime),
    events: facts.events,
    jobs: tally(rows),
    attempts: rows.reduce((count, row) => count + row.attempts.length, 0),
    slotSeconds: inSeconds(sum),
    slotTotalSeconds: slotMillis / 1000,
    usefulShare: slotMillis === 0 ? null : sum.usefulCompute / slotMillis,
    completion: completion(rows),
    failures: failureReports(jobs),
    setbacks: setbacks(rows),
    sites: siteReports(jobs),
    machines: groupReports(rows, ({ machine }) => machine),
    gpus: groupReports(rows, ({ gpu }) => gpu),
    caches: cacheReports(jobs),
    resources: resourceReports(jobs),
    slowest: slowest(rows),
    mostWasteful: mostWasteful(rows),
    notes,
  };
}

function tally(rows: readonly JobRow[]): LogReport['jobs'] {
  const counts = {
    total: rows.length,
    success: 0,
    wrongOutput: 0,
    failed: 0,
    held: 0,
    removed: 0,
    running: 0,
    waiting: 0,
  };
  for (const { outcome } of rows) counts[outcome] += 1;
  return counts;
}

const inSeconds = (millis: Amounts): Amounts =>
  Object.fromEntries(columns.map((column) => [column, millis[column] / 1000])) as Amounts;

function completion(rows: readonly JobRow[]): LogReport['completion'] {
  const spans = ascending(rows.flatMap(({ completionMillis }) => completionMillis ?? [])).map(
    (millis) => millis / 1000,
  );
  const rounded = (value: number | null) => (value === null ? null : Math.round(value * 1000) / 1000);
  return {
    meanSeconds: rounded(mean(spans)),
    medianSeconds: rounded(quantile(spans, 0.5)),
    p95Seconds: rounded(quantile(spans, 0.95)),
  };
}

function setbacks(rows: readonly JobRow[]): LogReport['setbacks'] {
  const byCause = new Map<Cause, { cause: Cause; attempts: number; lostSeconds: number }>();
  for (const { attempts } of rows)
    for (const { cause, millis } of attempts) {
      if (cause === undefined) continue;
      const setback = byCause.get(cause) ?? { cause, attempts: 0, lostSeconds: 0 };
      byCause.set(cause, setback);
      setback.attempts += 1;
      setback.lostSeconds += sumOver(millis, lossColumns) / 1000;
    }
  return [...byCause.values()].sort(
    (a, b) => b.lostSeconds - a.lostSeconds || a.cause.localeCompare(b.cause),
  );
}

function slowest(rows: readonly JobRow[]): LogReport['slowest'] {
  return rows
    .flatMap(({ job, completionMillis }) =>
      completionMillis === undefined ? [] : [{ job, seconds: completionMillis / 1000 }],
    )
    .sort((a, b) => b.seconds - a.seconds)
    .slice(0, listed);
}

function mostWasteful(rows: readonly JobRow[]): LogReport['mostWasteful'] {
  return rows
    .map(({ job, outcome, attempts, millis }) => ({
      job,
      outcome,
      attempts: attempts.length,
      lostSeconds: sumOver(millis, lossColumns) / 1000,
      mostly: lossColumns.reduce((most, column) => (millis[column] > millis[most] ? column : most)),
    }))
    .filter(({ lostSeconds }) => lostSeconds > 0)
    .sort((a, b) => b.lostSeconds - a.lostSeconds)
    .slice(0, listed);
}
