import { counted } from '../base/counted.ts';
import type { JobHistory } from '../history/history.ts';
import { csvLine } from './attempt-csv.ts';
import { columns } from './columns.ts';
import { groupings, type Grouping, type GroupingName } from './groupings.ts';
import { type GroupKey, type GroupReport, groupReports } from './groups.ts';
import type { ReadLogs } from './read-logs.ts';
import { hasSites, lostMillis, unknownSite } from './sites.ts';

/** What `report --by` prints with `--json`. The keys are stable; new ones may be added. */
export interface GroupedReport {
  format: 1;
  by: GroupingName;
  source: 'log' | 'run';
  logs: string[];
  jobs: number;
  attempts: number;
  slotTotalSeconds: number;
  lostSeconds: number;
  /** The largest loss first. Jobs or attempts without a name are the group `unknown`. */
  groups: GroupReport[];
  notes: string[];
}

export function groupedReport({ jobs, ledger, report }: ReadLogs, by: GroupingName): GroupedReport {
  const { source, logs, attempts, slotTotalSeconds } = report;
  const key = groupings[by].key(jobs, logs);
  const groups = groupReports(jobs, ledger.rows, orUnknown(key), ledger.facts.hasTransfers);
  return {
    format: 1,
    by,
    source,
    logs,
    jobs: jobs.length,
    attempts,
    slotTotalSeconds,
    lostSeconds: lostMillis({ millis: ledger.sum }) / 1000,
    groups,
    notes: [...lackNotes(by, key, groups, source, jobs), ...report.notes],
  };
}

function lackNotes(
  by: GroupingName,
  key: GroupKey,
  groups: readonly GroupReport[],
  source: GroupedReport['source'],
  jobs: readonly JobHistory[],
): string[] {
  const { title, lack }: Grouping = groupings[by];
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
    ? { job: (job) => key.job(job) ?? unknownSite }
    : { attempt: (attempt) => key.attempt(attempt) ?? unknownSite };

/** A header with the keys of the JSON, then a row per group. */
export function* groupCsv({ by, groups }: GroupedReport): Generator<string> {
  yield csvLine([by, ...figures, ...columns]);
  for (const group of groups)
    yield csvLine([
      group.name,
      ...figures.map((key) => String(group[key] ?? '')),
      ...columns.map((column) => String(group.slotSeconds[column])),
    ]);
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
] as const satisfies readonly (keyof GroupReport)[];
