import { counted } from '@updraft/base';
import { countJob } from './account.ts';
import { ascending, mean, quantile } from '../statistics/describe.ts';
import {
  type BarRow,
  barChart,
  rateUnit,
  stacked,
  type Strip,
  stripChart,
  timeUnit,
} from '@updraft/view/charts';
import { type Column, columnParts, lossColumns, slotColumns } from './columns.ts';
import type { JobRow, Ledger } from './ledger.ts';
import type { AttemptHistory, JobHistory } from '../history/history.ts';
import type { LogReport } from './log-report.ts';
import { historyLabel, rowLabel } from './job-names.ts';
import type { Chart } from '@updraft/view/document';
import { searchCharts } from './search-report.ts';
import { lostMillis } from './losses.ts';
import { secondsOf, siteNames, transferRate } from './sites.ts';
import { formatSeconds } from '@updraft/view/format';

const maxRows = 40;

export function reportCharts(jobs: readonly JobHistory[], { rows }: Ledger, report: LogReport): Chart[] {
  const wasteful = highestLoss(rows);
  const doubted = new Set(report.suspicious.map(({ job }) => job));
  const sure = jobs.filter(({ id }) => !doubted.has(id));
  return [
    ...slotTimeChart(report),
    ...completions(rows),
    ...compute(sure),
    ...losses(wasteful),
    ...timeline(jobs, wasteful),
    ...dotChart('sites', rates, 'Input transfer rate per site', strips(sure, transferRate)),
    ...cacheRates(jobs),
    ...searchCharts(report),
  ];
}

function slotTimeChart({ slotSeconds, slotTotalSeconds }: LogReport): Chart[] {
  const title = 'Where the time on slots went';
  if (slotTotalSeconds === 0) return [];
  const bars = stacked(slotColumns.map((column) => [column, slotSeconds[column]]));
  const words = bars.map(({ part, from, to }) => `${formatSeconds(to - from)} ${columnParts[part].label}`);
  const plot = { axis: 'on slots', description: words.join('; ') };
  return [{ section: 'top', title, svg: barChart([{ name: 'all jobs', bars }], columnParts, plot) }];
}

/** The jobs that lost most, without those too small to be visible beside the worst. */
function highestLoss(rows: readonly JobRow[]): JobRow[] {
  const lost = rows.map((row) => ({ row, millis: lostMillis(row) })).sort((a, b) => b.millis - a.millis);
  const visible = (lost[0]?.millis ?? 0) / 200;
  return lost
    .filter(({ millis }) => millis > visible)
    .slice(0, maxRows)
    .map(({ row }) => row);
}

function completions(rows: readonly JobRow[]): Chart[] {
  const values = rows.flatMap((row) =>
    row.completionMillis === undefined ? [] : [{ name: rowLabel(row), value: row.completionMillis / 1000 }],
  );
  const found = values.length === 0 ? [] : [strip('all jobs', values)];
  return dotChart('summary', times, 'From first match to completion (one dot per job)', found);
}

/** A strip per site, with a value of each job's last attempt. */
function strips(jobs: readonly JobHistory[], value: (attempt: AttemptHistory) => number[]): Strip[] {
  const nameOf = siteNames(jobs);
  const placed = jobs.flatMap((job) => {
    const { outcome, attempts } = job;
    const last = attempts.at(-1);
    if (outcome !== 'success' || last === undefined) return [];
    return value(last).map((one) => ({ site: nameOf(last), name: historyLabel(job), value: one }));
  });
  return [...Map.groupBy(placed, ({ site }) => site)]
    .map(([name, values]) => strip(name, values))
    .sort((a, b) => b.values.length - a.values.length || a.name.localeCompare(b.name));
}

function compute(jobs: readonly JobHistory[]): Chart[] {
  const found = strips(jobs, (attempt) => [secondsOf(attempt, 'training')]);
  return dotChart('sites', times, 'Compute time per site (one dot per job)', found);
}

export function strip(name: string, values: Strip['values']): Strip {
  const sorted = ascending(values.map(({ value }) => value));
  return { name, values, mean: mean(sorted) ?? 0, median: quantile(sorted, 0.5) ?? 0 };
}

const times = { axis: 'time', unit: timeUnit, show: formatSeconds };
const rates = {
  axis: 'rate',
  unit: rateUnit,
  show: (value: number) => `${(value / 1e6).toFixed(1)} MB/s`,
};

function dotChart(section: string, of: typeof rates, title: string, found: Strip[]): Chart[] {
  return found.length === 0 ? [] : [{ section, title, svg: stripChart(found, of) }];
}

function cacheRates(jobs: readonly JobHistory[]): Chart[] {
  const fetched = jobs.flatMap((job) =>
    job.attempts.flatMap(({ caches = [] }) =>
      caches
        .filter(({ bytes, seconds }) => bytes > 0 && seconds > 0)
        .map((cache) => ({ ...cache, job: historyLabel(job) })),
    ),
  );
  const found = [...Map.groupBy(fetched, ({ name }) => name)].map(([name, values]) =>
    strip(
      name,
      values.map(({ job, bytes, seconds }) => ({ name: job, value: bytes / seconds })),
    ),
  );
  return dotChart('caches', rates, 'Transfer rate per cache', found);
}

function losses(wasteful: readonly JobRow[]): Chart[] {
  if (wasteful.length === 0) return [];
  const title = `Slot time lost per job, by cause${wasteful.length < maxRows ? '' : ` (the ${maxRows} worst)`}`;
  const bars = wasteful.map((row) => ({
    name: rowLabel(row),
    bars: stacked(lossColumns.map((column) => [column, row.millis[column] / 1000])),
  }));
  return [{ section: 'waste', title, svg: barChart(bars, columnParts, { axis: 'lost' }) }];
}

function timeline(jobs: readonly JobHistory[], wasteful: readonly JobRow[]): Chart[] {
  const worst = new Set(wasteful.map(({ job }) => job));
  const few = jobs.length <= maxRows ? jobs : jobs.filter(({ id }) => worst.has(id));
  const shown = few.filter(({ from, to }) => to > from);
  if (shown.length === 0) return [];
  const title =
    jobs.length <= maxRows ? 'Attempts over time' : 'Attempts over time of the most wasteful jobs';
  const description = shown
    .map((job) => `${historyLabel(job)}: ${counted(job.attempts.length, 'attempt')}, ${job.outcome}`)
    .join('; ');
  const plot = { description, axis: 'since the job was submitted' };
  return [{ section: 'waste', title, svg: barChart(shown.map(timelineOf), columnParts, plot) }];
}

/** From the job's first event; thin bars are waits. A tick at each start: consecutive attempts would look like one. */
function timelineOf(job: JobHistory): BarRow<Column> {
  const { attempts, after } = countJob(job);
  const bars = [...attempts.flat(), ...after].map(({ column, from, to }) => ({
    part: column,
    from: from / 1000,
    to: to / 1000,
    isThin: column === 'queued' || column === 'idle' || column === 'held',
  }));
  const ticks = job.attempts.flatMap(({ spans }) => (spans[0] === undefined ? [] : [spans[0].from / 1000]));
  return { name: historyLabel(job), bars, ticks };
}
