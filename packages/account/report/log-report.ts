import { defined } from '@updraft/base';
import { causeTitle, type Cause } from '../codes/causes.ts';
import type { JobHistory } from '../history/history.ts';
import { inSeconds, lossColumns, type Amounts, type Column } from './columns.ts';
import type { JobRow, Ledger, RowOutcome } from './ledger.ts';
import { type BrokenMachine, brokenMachines } from './broken-machines.ts';
import { type CacheReport, cacheReports, type CacheSiteReport, cacheSiteReports } from './cache-reports.ts';
import { savesOf } from '../journal/fold-agent.ts';
import type { TrainingState } from '../journal/agent-state.ts';
import { expectedLoss } from '../recovery/interruptions.ts';
import { scorePlaces } from '../recovery/places.ts';
import { secondsOf } from './sites.ts';
import { groupingOf, groupings, type GroupingName } from './groupings.ts';
import { type GroupReport, groupReports } from './groups.ts';
import { jobName, type JobName } from './job-names.ts';
import { type CountedJobs, lossByCause, lostMillis } from './losses.ts';
import { resourceReports, type ResourceReport } from './resource-reports.ts';
import { ascending, largest, mean, quantile } from '../statistics/describe.ts';
import type { DagRun } from '@updraft/htcondor/dag';
import { nodeReport, type NodeReport } from './node-report.ts';
import { searchReport, type SearchReport } from './search-report.ts';
import type { Suspect } from './validity.ts';
import { remedyFor, verdictOf, type SourceKind, type Verdict } from './verdict.ts';

/**
 * A report on the jobs of event logs: what `report --json` prints. The keys are stable; new ones may be added.
 * Times are seconds; shares are between 0 and 1, or null for a share of nothing.
 */
export interface LogReport {
  format: 1;
  source: SourceKind;
  /** The logs as named on the command line. */
  logs: string[];
  firstEventAt: string | null;
  lastEventAt: string | null;
  /** The log's own clock: its zone, minutes east of UTC, and whether its year is a guess. */
  clock: { zone: string | null; offsetMinutes: number | null; guessedYear: boolean };
  events: number;
  /** The one fact that explains most of the loss, or null. */
  verdict: Verdict | null;
  /** The parts add up to `total`. `held`, `running` (on a slot) and `waiting` are the state when the log ends. */
  jobs: { total: number } & Record<RowOutcome, number>;
  /** Whether the jobs are nodes of a DAG, whose clusters are their attempts. */
  nodes: boolean;
  attempts: number;
  /** Seconds per column of the ledger; `queued`, `idle` and `held` are not on a slot. */
  slotSeconds: Record<Column, number>;
  slotTotalSeconds: number;
  /** Compute that led to a valid result or to a used checkpoint, as a share of all time on slots. */
  usefulShare: number | null;
  /** From a job's first match to its success. */
  completion: { meanSeconds: number | null; medianSeconds: number | null; p95Seconds: number | null };
  /** Bytes that HTCondor sent to attempts, the agent included, without those fetched by plugins; over how many. */
  sent: { bytes: number; attempts: number };
  /** Jobs with exit code 0 that may have no result. */
  suspicious: Suspect[];
  /** Jobs that ended without a valid result or are held, by cause; the shares add up to 1. */
  failures: FailureReport[];
  /** What was lost to each cause, and in how many attempts, also of jobs that succeeded later. */
  setbacks: { cause: Cause; attempts: number; lostSeconds: number; remedy: string }[];
  /** Attempts by site, and below by machine and by GPU model where they are known; the largest loss first. */
  sites: GroupReport[];
  machines: GroupReport[];
  brokenMachines: BrokenMachine[];
  gpus: GroupReport[];
  /** Attempts by GPU model and site, the best first, if there are several of both. */
  places?: PlaceReport[];
  /** What each cache delivered to a run; empty for logs, which do not record it. */
  caches: CacheReport[];
  /** The same for each site. */
  cacheSites: CacheSiteReport[];
  resources: ResourceReport[];
  /** Of trainings that use `updraft`; null for others. */
  checkpoints: CheckpointReport | null;
  slowest: ({ seconds: number } & JobName)[];
  largestLosses: ({ outcome: RowOutcome; attempts: number; lostSeconds: number; mostly: Column } & JobName)[];
  /** The nodes of a DAG; null if the jobs are not nodes. */
  dag: NodeReport | null;
  /** Only of a run whose trials are judged at rungs. */
  search?: SearchReport;
  /** Limits of the logs that affect the figures. */
  notes: string[];
}

/** Jobs that failed for the same cause. */
export interface FailureReport {
  cause: Cause;
  jobs: number;
  share: number;
  what: string;
  remedy: string;
  /** The pool's words for one of them. */
  example: ({ reason: string } & JobName) | null;
}

/** What slots with this GPU at this site gave. */
export interface PlaceReport extends GroupReport {
  /** The model and the site. */
  values: readonly string[];
  /** Epochs that lasted, per slot time, against those of all attempts: by this, slots are ranked. */
  worth: number | null;
}

interface Extras {
  logs: string[];
  notes: string[];
  source?: SourceKind;
  suspects?: Suspect[];
  /** The DAG whose nodes the jobs are. */
  dag?: DagRun | undefined;
}

const listed = 10;

export function logReport(jobs: readonly JobHistory[], ledger: Ledger, extras: Extras): LogReport {
  const { facts, sum, rows, slotMillis } = ledger;
  const { logs, notes, source = 'log', suspects = [] } = extras;
  const resources = resourceReports(jobs);
  const when = (time: number | undefined) => (time === undefined ? null : new Date(time).toISOString());
  const [broken, caches] = [brokenMachines({ jobs, rows }), cacheReports(jobs)];
  const groups = (by: GroupingName) =>
    groupReports(jobs, rows, groupings[by].key(jobs, logs), facts.hasTransfers);
  return {
    format: 1,
    source,
    logs,
    firstEventAt: when(facts.firstTime),
    lastEventAt: when(facts.lastTime),
    clock: {
      zone: facts.zone ?? null,
      offsetMinutes: facts.offsetMinutes ?? null,
      guessedYear: facts.guessedYear,
    },
    events: facts.events,
    verdict: verdictOf({ source, jobs, rows, slotMillis, broken, caches, resources }),
    jobs: tally(rows),
    nodes: jobs.some(({ node }) => node !== undefined),
    attempts: rows.reduce((count, row) => count + row.attempts.length, 0),
    slotSeconds: inSeconds(sum),
    slotTotalSeconds: slotMillis / 1000,
    usefulShare: slotMillis === 0 ? null : sum.usefulCompute / slotMillis,
    completion: completion(rows),
    sent: sentBytes(jobs),
    suspicious: suspects,
    failures: failureReports(jobs, source),
    setbacks: setbacks({ jobs, rows }, source),
    sites: groups('site'),
    machines: groups('machine'),
    brokenMachines: broken,
    gpus: groups('gpu'),
    ...defined({ places: placeReports(jobs, rows, facts.hasTransfers) }),
    caches,
    cacheSites: cacheSiteReports(jobs),
    resources,
    checkpoints: checkpointReport(jobs, rows),
    slowest: slowest(rows),
    largestLosses: largestLosses(rows),
    dag: nodeReport(jobs, rows, extras.dag, logs),
    ...defined({ search: searchReport(jobs) }),
    notes,
  };
}

function placeReports(
  jobs: readonly JobHistory[],
  rows: readonly JobRow[],
  hasTransfers: boolean,
): PlaceReport[] | undefined {
  const key = groupingOf('gpu,site', jobs).key(jobs, []);
  const groups = groupReports(jobs, rows, key, hasTransfers);
  const valuesOf = ({ name }: GroupReport): readonly string[] => key.valuesOf?.(name) ?? [];
  const count = (at: number): number => new Set(groups.map((group) => valuesOf(group)[at])).size;
  if (count(0) < 2 || count(1) < 2) return undefined;
  const places = scorePlaces(jobs.flatMap(({ attempts }) => attempts));
  const worthOf = ([gpu, site]: readonly string[]): number | null =>
    places.find((one) => one.gpu === gpu && one.site === site)?.worth ?? null;
  return groups
    .map((group) => ({ ...group, values: valuesOf(group), worth: worthOf(valuesOf(group)) }))
    .sort((a, b) => (b.worth ?? 0) - (a.worth ?? 0));
}

function sentBytes(jobs: readonly JobHistory[]): LogReport['sent'] {
  const sent = { bytes: 0, attempts: 0 };
  for (const { attempts } of jobs)
    for (const { receivedBytes } of attempts) {
      if (receivedBytes === undefined) continue;
      sent.bytes += receivedBytes;
      sent.attempts += 1;
    }
  return sent;
}

function tally(rows: readonly JobRow[]): LogReport['jobs'] {
  const outcomes = { success: 0, suspicious: 0, 'wrong-output': 0, failed: 0, held: 0, removed: 0 };
  const counts = { total: rows.length, ...outcomes, running: 0, waiting: 0 };
  for (const { outcome } of rows) counts[outcome] += 1;
  return counts;
}

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

/** Jobs by cause, the most frequent first. */
export const jobsByCause = (jobs: readonly JobHistory[]): [Cause, JobHistory[]][] =>
  [...Map.groupBy(jobs, ({ cause = 'unknown' }) => cause)].sort(
    ([a, some], [b, others]) => others.length - some.length || a.localeCompare(b),
  );

function failureReports(jobs: readonly JobHistory[], source: SourceKind): FailureReport[] {
  const failed = jobs.filter(isFailed);
  return jobsByCause(failed).map(([cause, same]): FailureReport => {
    const example = same.find(({ reason }) => reason !== undefined);
    return {
      cause,
      jobs: same.length,
      share: same.length / failed.length,
      what: causeTitle(cause),
      remedy: remedyFor(same, cause, source),
      example: example === undefined ? null : { ...jobName(example), reason: example.reason ?? '' },
    };
  });
}

/** Whether a job ended without a valid result or is held. */
export const isFailed = ({ outcome }: JobHistory): boolean =>
  outcome === 'wrong-output' || outcome === 'failed' || outcome === 'held' || outcome === 'removed';

function setbacks(counted: CountedJobs, source: SourceKind): LogReport['setbacks'] {
  return [...lossByCause(counted).losses]
    .map(([cause, { attempts, millis }]) => ({ cause, attempts, lostSeconds: millis / 1000 }))
    .sort((a, b) => b.lostSeconds - a.lostSeconds || a.cause.localeCompare(b.cause))
    .map((setback) => ({ ...setback, remedy: remedyFor(counted.jobs, setback.cause, source) }));
}

function slowest(rows: readonly JobRow[]): LogReport['slowest'] {
  return largest(rows, listed, ({ completionMillis }) => completionMillis).map(({ item, value }) => ({
    ...rowName(item),
    seconds: value / 1000,
  }));
}

function largestLosses(rows: readonly JobRow[]): LogReport['largestLosses'] {
  return largest(rows, listed, lostMillis, 0).map(({ item, value }) => ({
    ...rowName(item),
    outcome: item.outcome,
    attempts: item.attempts.length,
    lostSeconds: value / 1000,
    mostly: largestColumn(item.millis),
  }));
}

const rowName = ({ job, node, siblings, log, parameters, name }: JobRow): JobName => ({
  job,
  node: node ?? null,
  log: log ?? null,
  ...defined({ siblings, parameters, name }),
});

const largestColumn = (millis: Amounts): Column =>
  lossColumns.reduce((largest, column) => (millis[column] > millis[largest] ? column : largest));

/**
 * What the checkpoints of `updraft` cost, and what interruptions cost in spite of them. Shares are of training
 * time.
 */
export interface CheckpointReport {
  saves: number;
  /** Time in which trainings waited for their checkpoints, in all and for each. */
  waitSeconds: number;
  waitShare: number | null;
  secondsPerSave: number;
  /** Median of the intervals that trainings chose. */
  everySeconds: number | null;
  interruptions: number;
  /** Time on slots between two interruptions, and work since the last checkpoint that each one cost. */
  meanSecondsBetween: number | null;
  lostSecondsEach: number | null;
  /**
   * What saving and repeated work cost at that interval if machines vanish without notice; null without an
   * interruption.
   */
  expectedShare: number | null;
}

/** Null if no training reported a checkpoint. */
export function checkpointReport(
  jobs: readonly JobHistory[],
  rows: readonly JobRow[],
): CheckpointReport | null {
  const trainings: TrainingState[] = [];
  for (const job of jobs)
    for (const { agent } of job.attempts)
      if (agent?.training && savesOf(agent.training)) trainings.push(agent.training);
  // Before anything is copied: a log may have a million attempts, and few have checkpoints of ours.
  if (trainings.length === 0) return null;
  const attempts = jobs.flatMap((job, index) =>
    job.attempts.map((attempt, nth) => ({ ...attempt, counted: rows[index]?.attempts[nth] })),
  );
  const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);
  const saved = trainings.flatMap((one) => savesOf(one) ?? []);
  const saves = sum(saved.map((one) => one.saves));
  const waitSeconds = sum(saved.map(({ seconds }) => seconds));
  const trained = sum(
    attempts.map((one) => (savesOf(one.agent?.training) ? secondsOf(one, 'training', 'starved') : 0)),
  );
  const interrupted = attempts.filter(({ ending }) => ending === 'evicted' || ending === 'lost');
  const lost = sum(interrupted.map(({ counted }) => (counted?.millis.lostToEviction ?? 0) / 1000));
  const count = interrupted.length;
  const life = count === 0 ? null : sum(attempts.map((one) => secondsOf(one))) / count;
  const everySeconds = quantile(ascending(trainings.flatMap(({ saveEvery }) => saveEvery ?? [])), 0.5);
  return {
    saves,
    waitSeconds,
    waitShare: trained === 0 ? null : waitSeconds / trained,
    secondsPerSave: waitSeconds / saves,
    everySeconds,
    interruptions: count,
    meanSecondsBetween: life,
    lostSecondsEach: count === 0 ? null : lost / count,
    expectedShare:
      life === null || life === 0 ? null : expectedLoss(life, waitSeconds / saves, everySeconds ?? undefined),
  };
}
