import { counted, given } from '@updraft/base';
import { joinDirections } from '@updraft/base/training';
import type { Cause } from '../codes/causes.ts';
import type { JobHistory } from '../history/history.ts';
import { csvLine } from '@updraft/view/document';
import { columns } from './columns.ts';
import {
  groupCost,
  groupCurve,
  type GroupCost,
  type GroupCurve,
  measureGroups,
  type MeasuredGroups,
} from './compare/comparison.ts';
import { decidingMetric, knownMeasure } from './compare/measures.ts';
import { sampleGroups } from './compare/samples.ts';
import type { Interval } from '../statistics/intervals.ts';
import { groupingOf, type Grouping } from './groupings.ts';
import { type GroupKey, type GroupReport, groupReports } from './groups.ts';
import type { ReadLogs } from './read-logs.ts';
import { lostMillis } from './losses.ts';
import { hasSites, unknownSite } from './sites.ts';
import { remedyFor } from './verdict.ts';

/** A group of jobs or attempts: where its time went, and what a valid result costs. */
export interface ComparedGroup extends GroupReport, GroupCost {
  /** Of each of the `titles`. */
  values: readonly string[];
}

/** What `compare`, and `report --by`, print with `--json`. The keys are stable; new ones may be added. */
export interface GroupedReport {
  format: 1;
  /** As on the command line. */
  by: string;
  /** Of what the groups are. */
  title: string;
  /** If that is several things, each. */
  titles: readonly string[];
  /** Whether jobs are grouped, with all their attempts; else attempts are. */
  isByJob: boolean;
  source: 'log' | 'run';
  logs: string[];
  jobs: number;
  attempts: number;
  slotTotalSeconds: number;
  lostSeconds: number;
  /** The largest loss first. Jobs or attempts without a name are the group `unknown`. */
  groups: ComparedGroup[];
  /** What helps against the causes of the groups. */
  remedies: Partial<Record<Cause, string>>;
  /** What was measured of each group, and whether groups differ by more than noise. */
  measures: MeasuredGroups[];
  /** The share of each group with a valid result over time. */
  completion: GroupCurve[];
  notes: string[];
}

/** `metrics` are the measures to compare; without any, time and the metric that most likely decides. */
export function groupedReport(read: ReadLogs, by: string, metrics: readonly string[] = []): GroupedReport {
  const { jobs, ledger, report } = read;
  const { source, logs, attempts, slotTotalSeconds } = report;
  const grouping = groupingOf(by, jobs);
  const key = orUnknown(grouping.key(jobs, logs));
  const sampled = sampleGroups(read, key);
  const samples = sampled.flatMap((group) => group.samples);
  const directions = joinDirections([...new Set(jobs.flatMap(({ directions }) => directions ?? []))]);
  const deciding = decidingMetric(sampled, directions);
  const wanted = metrics.length > 0 ? metrics : given('time', deciding);
  const costs = new Map(sampled.map((group) => [group.name, groupCost(group)]));
  const groups = groupReports(jobs, ledger.rows, key, ledger.facts.hasTransfers).flatMap((group) => {
    const cost = costs.get(group.name);
    const values = key.valuesOf?.(group.name) ?? [group.name];
    return cost === undefined ? [] : [{ ...group, ...cost, values }];
  });
  return {
    format: 1,
    by,
    title: grouping.title,
    titles: grouping.titles ?? [grouping.title],
    isByJob: 'job' in key,
    source,
    logs,
    jobs: jobs.length,
    attempts,
    slotTotalSeconds,
    lostSeconds: lostMillis({ millis: ledger.sum }) / 1000,
    groups,
    remedies: Object.fromEntries(
      [...new Set(groups.flatMap(({ cause }) => cause ?? []))].map((cause) => [
        cause,
        remedyFor(jobs, cause, source),
      ]),
    ),
    measures: wanted.map((name) => measureGroups(sampled, knownMeasure(name, samples, directions))),
    completion: sampled.map(groupCurve),
    notes: [
      ...fileOwnerNotes(by, jobs),
      ...lackNotes(by, grouping, key, groups, source, jobs),
      ...report.notes,
    ],
  };
}

/** A file may belong to somebody else than its jobs, so this is said. */
function fileOwnerNotes(by: string, jobs: readonly JobHistory[]): string[] {
  const count = by.split(',').includes('owner') ? jobs.filter((job) => job.isFileOwner).length : 0;
  return count === 0
    ? []
    : [`${counted(count, 'job')}: the log names no owner, so the owner of its file stands for it.`];
}

function lackNotes(
  by: string,
  { title, lack }: Grouping,
  key: GroupKey,
  groups: readonly GroupReport[],
  source: GroupedReport['source'],
  jobs: readonly JobHistory[],
): string[] {
  const unnamed = groups.find(({ name }) => name === unknownSite);
  const isMachines = by === 'site' && groups.length > 0 && !hasSites(jobs);
  if (unnamed === undefined && !isMachines) return [];
  const whose =
    'job' in key ? counted(unnamed?.jobs ?? 0, 'job') : counted(unnamed?.attempts ?? 0, 'attempt');
  const said = isMachines
    ? `The ${source} names no sites: machines stand in for them.`
    : `The ${source} does not name the ${title} of ${whose}.`;
  return [source === 'run' || lack === undefined ? said : `${said} ${lack}`];
}

const orUnknown = (key: GroupKey): GroupKey =>
  'job' in key
    ? { ...key, job: (job) => key.job(job) ?? unknownSite }
    : { ...key, attempt: (attempt, job) => key.attempt(attempt, job) ?? unknownSite };

/** A header with the keys of the JSON, then a row per group. */
export function* groupCsv({ by, groups, measures }: GroupedReport): Generator<string> {
  const time = measures.find(({ name }) => name === 'time')?.groups ?? [];
  const test = measures.find(({ name }) => name === 'time')?.test;
  const head = [by, ...figures, ...timeFigures.map((key) => `time.${key}`), ...columns];
  yield csvLine([...head, 'time.interval_low', 'time.interval_high', 'time.p', ...costInterval]);
  for (const group of groups) {
    const own = time.find(({ name }) => name === group.name);
    yield csvLine([
      group.name,
      ...figures.map((key) => String(group[key] ?? '')),
      ...timeFigures.map((key) => String(own?.[key] ?? '')),
      ...columns.map((column) => String(group.slotSeconds[column])),
      ...ends(own?.interval),
      String(test?.p ?? ''),
      ...ends(group.slotSecondsPerValidInterval),
    ]);
  }
}

const figures = [
  'jobs',
  'attempts',
  'success',
  'slotTotalSeconds',
  'usefulShare',
  'lostSeconds',
  'cause',
  'computeMedianSeconds',
  'transferMedianSeconds',
  'transferBytesPerSecond',
  'n',
  'valid',
  'slotSecondsPerValid',
  'gpuSecondsPerValid',
] as const satisfies readonly (keyof ComparedGroup)[];

const costInterval = ['slotSecondsPerValid_low', 'slotSecondsPerValid_high'];
/** Empty without an interval. */
const ends = (interval: Interval | null | undefined): string[] => (interval ?? ['', '']).map(String);

const timeFigures = ['n', 'mean', 'median', 'p95', 'q1', 'q3', 'deviation'] as const;

/** A header, then a row per measure and group: what `compare --csv` prints. */
export function* comparisonCsv({ by, groups, measures }: GroupedReport): Generator<string> {
  const head = ['metric', by, 'jobs', 'valid', ...timeFigures, 'interval_low', 'interval_high', 'p'];
  yield csvLine([...head, 'slotSecondsPerValid', 'gpuSecondsPerValid', ...costInterval]);
  for (const { name: metric, groups: measured, test } of measures)
    for (const one of measured) {
      const cost = groups.find(({ name }) => name === one.name);
      const cells = [
        ...[metric, one.name, cost?.n, cost?.valid],
        ...timeFigures.map((key) => one[key]),
        ...[...ends(one.interval), test?.p, cost?.slotSecondsPerValid, cost?.gpuSecondsPerValid],
        ...ends(cost?.slotSecondsPerValidInterval),
      ];
      yield csvLine(cells.map((cell) => String(cell ?? '')));
    }
}
