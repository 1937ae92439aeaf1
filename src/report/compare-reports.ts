import { columnLabels, slotColumns } from './columns.ts';
import type { LogReport } from './log-report.ts';
import type { Section } from './section.ts';
import { formatHours, formatSeconds, formatShare } from './format.ts';

/** Two reports side by side, with the change from the first to the second. */
export function compareReports(a: LogReport, b: LogReport, names: [string, string]): Section[] {
  const head = [{ title: '' }, ...[...names, 'change'].map((title) => ({ title, align: 'right' as const }))];
  const row = (what: string, get: (report: LogReport) => number | null, show: (value: number) => string) => {
    const [before, after] = [get(a), get(b)];
    const cell = (value: number | null) => (value === null ? '-' : show(value));
    return [what, cell(before), cell(after), change(before, after, show)];
  };
  const used = slotColumns.filter((column) => a.slotSeconds[column] + b.slotSeconds[column] > 0);
  const found = [...new Set([...a.failures, ...b.failures].map(({ cause }) => cause))];
  const failed = (report: LogReport, cause: string) =>
    report.failures.find((failure) => failure.cause === cause)?.jobs ?? 0;
  return [
    {
      id: 'summary',
      title: 'Summary',
      head,
      rows: [
        row('jobs', ({ jobs }) => jobs.total, String),
        row('success', ({ jobs }) => (jobs.total === 0 ? null : jobs.success / jobs.total), formatShare),
        row('attempts', ({ attempts }) => attempts, String),
        row('time on slots', ({ slotTotalSeconds }) => slotTotalSeconds, formatHours),
        row('useful compute', ({ usefulShare }) => usefulShare, formatShare),
        row('mean to completion', ({ completion }) => completion.meanSeconds, formatSeconds),
        row('median to completion', ({ completion }) => completion.medianSeconds, formatSeconds),
        row('95 % within', ({ completion }) => completion.p95Seconds, formatSeconds),
      ],
    },
    {
      id: 'time',
      title: 'Where the time on slots went, per job',
      head,
      rows: used.map((column) =>
        row(columnLabels[column], (report) => perJob(report, report.slotSeconds[column]), formatSeconds),
      ),
    },
    {
      id: 'failures',
      title: 'Jobs without a valid result, by cause',
      head,
      rows: found.map((cause) => row(cause, (report) => failed(report, cause), String)),
    },
  ].filter(({ rows }) => rows.length > 0);
}

/** The two runs may have different numbers of jobs. */
const perJob = ({ jobs }: LogReport, seconds: number): number | null =>
  jobs.total === 0 ? null : seconds / jobs.total;

function change(before: number | null, after: number | null, show: (value: number) => string): string {
  if (before === null || after === null) return '';
  const difference = after - before;
  if (difference === 0) return '=';
  return `${difference < 0 ? '-' : '+'}${show(Math.abs(difference))}`;
}
