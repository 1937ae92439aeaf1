import { printable } from '../base/printable.ts';
import { clip, pad, textTable, widthOf } from '../base/text-table.ts';
import { columns, type Column } from './ledger.ts';
import { sectionText } from './log/section-text.ts';
import { cacheSection, resourceSection } from './log/sections.ts';
import { showMillis } from './show-millis.ts';
import type { Summary } from './summary.ts';

const showSeconds = (seconds: number): string => showMillis(seconds * 1000);
const showShare = (share: number): string => `${(share * 100).toFixed(1)} %`;

/** A page: how many characters wide, and the mark its bars are made of. */
export interface Page {
  width: number;
  bar: string;
}

/** A run's report as plain text; ends without a line end. */
export function reportText(report: Summary, { width, bar }: Page): string {
  return [
    ...heading(report),
    '',
    ...timeChart(report, { width, bar }),
    '',
    ...attemptTable(report, width),
    ...failureLines(report, width),
    ...places(report, { width, bar }),
    ...(report.garbledLines === 0
      ? []
      : ['', `${report.garbledLines} line(s) of the journals could not be read and are left out.`]),
  ].join('\n');
}

function heading({ run, name, pool, jobs, completion }: Summary): string[] {
  const { total, ...rest } = jobs;
  const parts = Object.entries(rest).filter(([, count]) => count > 0);
  const counts = parts.map(([part, count]) => `${count} ${words[part] ?? part}`).join(', ');
  const { meanSeconds, medianSeconds, p95Seconds } = completion;
  const lines = [
    `run ${printable(run)} (${printable(name)}, pool ${printable(pool)})`,
    `${total} job${total === 1 ? '' : 's'}${counts === '' ? '' : `: ${counts}`}`,
  ];
  if (meanSeconds !== null && medianSeconds !== null && p95Seconds !== null)
    lines.push(
      `from first start to valid result: mean ${showSeconds(meanSeconds)}, median ${showSeconds(medianSeconds)}, p95 ${showSeconds(p95Seconds)}`,
    );
  return lines;
}

const words: Record<string, string> = { wrongOutput: 'wrong output', removed: 'stopped' };

/** A bar per column, the longest first; the queue last, since nobody holds a slot there. */
function timeChart({ slotSeconds, usefulShare }: Summary, { width, bar }: Page): string[] {
  const onSlot = columns.filter((column) => column !== 'queued' && slotSeconds[column] > 0);
  const all = onSlot.reduce((sum, column) => sum + slotSeconds[column], 0);
  if (all === 0 || usefulShare === null) return ['no time on a slot yet'];
  const most = Math.max(...onSlot.map((column) => slotSeconds[column]));
  const room = Math.max(8, Math.min(48, width - 32));
  const line = (column: Column) => {
    const seconds = slotSeconds[column];
    const length = Math.max(1, Math.round((room * seconds) / most));
    return `  ${pad(column, 10)} ${pad(bar.repeat(length), room)} ${pad(showSeconds(seconds), 7, 'right')} ${pad(showShare(seconds / all), 7, 'right')}`;
  };
  return [
    `where the time went: ${showSeconds(all)} on slots, ${showShare(usefulShare)} of it training that led to a result`,
    ...onSlot.toSorted((a, b) => slotSeconds[b] - slotSeconds[a]).map(line),
    ...(slotSeconds.queued > 0 ? [`  and ${showSeconds(slotSeconds.queued)} queued, on no slot`] : []),
  ];
}

/**
 * A row per attempt and the sum. Where not all columns fit, the smallest are added up as `other`, so that a row
 * still adds up.
 */
function attemptTable(report: Summary, width: number): string[] {
  const used = columns.filter((column) => report.slotSeconds[column] > 0);
  const bySize = used.toSorted((a, b) => report.slotSeconds[b] - report.slotSeconds[a]);
  for (let kept = used.length; ; kept -= 1) {
    const shown = new Set(bySize.slice(0, kept));
    const table = attemptRows(
      report,
      used.filter((column) => shown.has(column)),
      used.filter((column) => !shown.has(column)),
    );
    if (kept <= 1 || table.every((line) => widthOf(line) <= width)) return table;
  }
}

function attemptRows({ attempts, slotSeconds }: Summary, shown: Column[], other: Column[]): string[] {
  const show = (seconds: number) => (seconds === 0 ? '-' : showSeconds(seconds));
  const cells = (seconds: Record<Column, number>, total: number) => [
    ...shown.map((column) => show(seconds[column])),
    other.length === 0 ? '' : show(other.reduce((sum, column) => sum + seconds[column], 0)),
    showSeconds(total),
  ];
  const rows = attempts.map(({ job, attempt, outcome, host, site, seconds, totalSeconds }) => [
    printable(job),
    String(attempt),
    outcome,
    clip(printable(site === '' ? host : site), 16),
    ...cells(seconds, totalSeconds),
  ]);
  const total = attempts.reduce((sum, attempt) => sum + attempt.totalSeconds, 0);
  const sum = ['all', String(attempts.length), '', '', ...cells(slotSeconds, total)];
  const right = (title: string) => ({ title, align: 'right' as const });
  const titles = [...shown.map((column) => right(short[column])), right('other'), right('total')];
  return textTable(
    [{ title: 'job' }, right('try'), { title: 'outcome' }, { title: 'where' }, ...titles],
    [...rows, sum],
  );
}

/** Short titles, so that more columns fit. */
const short: Record<Column, string> = {
  queued: 'queued',
  preparing: 'prep',
  fetching: 'fetch',
  unpacking: 'unpack',
  training: 'train',
  saving: 'save',
  returning: 'return',
  cleaning: 'clean',
  stalled: 'stalled',
  overhead: 'over',
  unknown: 'unknown',
};

/** The caches and the resources, where anything is known of them. */
function places(report: Summary, page: Page): string[] {
  const parts = [cacheSection(report), resourceSection(report)].filter(({ rows }) => rows.length > 0);
  return parts.length === 0 ? [] : ['', sectionText(parts, page)];
}

function failureLines({ failures }: Summary, width: number): string[] {
  if (failures.length === 0) return [];
  const rows = failures.map(({ cause, jobs, share, what }) => [
    cause,
    `${jobs} job${jobs === 1 ? '' : 's'}`,
    showShare(share),
    what,
  ]);
  const table = textTable(
    [{ title: 'why' }, { title: 'jobs', align: 'right' }, { title: 'share', align: 'right' }, { title: '' }],
    rows,
  );
  return ['', 'jobs without a valid result', ...table.slice(1).map((line) => clip(`  ${line}`, width))];
}
