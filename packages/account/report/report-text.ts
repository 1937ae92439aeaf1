import { printable, widthOf, wrap, given } from '@updraft/base';
import { fitTable } from '@updraft/view/tables';
import {
  addAmounts,
  type Amounts,
  columnLabels,
  columns,
  noAmounts,
  slotColumns,
  sumOver,
} from './columns.ts';
import type { RunReport } from './read-run.ts';
import type { LogReport } from './log-report.ts';
import { rowLabel } from './job-names.ts';
import { documentText, type Section, sectionTable, type TextPage } from '@updraft/view/document';
import { timeSummary } from './sections.ts';
import { formatHours, formatMillis, formatShare } from '@updraft/view/format';

const maxBarWidth = 76;
/** The verdict, and one bar of where the time on slots went. */
function openingText(report: LogReport, { width, glyphs }: TextPage): string[] {
  const { verdict, slotTotalSeconds } = report;
  const line = typeof verdict?.line === 'string' ? [`  ${printable(verdict.line)}`] : [];
  const said = verdict === null ? [] : [...wrap(printable(verdict.text), width), ...line, ''];
  const parts = timeSummary(report);
  if (parts.length === 0) return said;
  const marks = [glyphs.done, glyphs.running, glyphs.failed, glyphs.idle];
  const room = Math.min(width, maxBarWidth) - 2;
  let [drawn, at] = ['', 0];
  for (const [index, { share }] of parts.entries()) {
    at += share;
    drawn += (marks[index] ?? '').repeat(Math.max(0, Math.round(at * room) - widthOf(drawn)));
  }
  // Non-breaking spaces keep a mark, its label and its share on one line.
  const key = parts.map(({ words, share }, index) =>
    `${marks[index]} ${words} ${formatShare(share)}`.replaceAll(' ', '\u00a0'),
  );
  return [
    ...said,
    `${formatHours(slotTotalSeconds)} on slots`,
    `  ${drawn}`,
    ...wrap(key.join('  '), width, '  ').map((text) => text.replaceAll('\u00a0', ' ')),
    '',
  ];
}

/** Plain text without a final newline. */
export const reportText = (report: LogReport, parts: readonly Section[], page: TextPage): string =>
  [
    ...openingText(report, page),
    documentText(parts, page.width, page).trimEnd(),
    ...report.notes.flatMap((note) => ['', ...wrap(printable(note), page.width)]),
  ].join('\n');

/** More attempts are only listed by `--csv`. */
const maxAttempts = 30;

/** A run's report: that of its log, plus each attempt; without a final newline. */
export function runText(report: RunReport, parts: readonly Section[], page: TextPage): string {
  const { run, name, pool, attemptRows } = report;
  const isShown = attemptRows.length > 0 && attemptRows.length <= maxAttempts;
  const all = given(...parts, isShown && attemptSection(report, page.width));
  const title = `run ${printable(run)} (${printable(name)}, pool ${printable(pool)})`;
  return `${title}\n\n${reportText(report, all, page)}`;
}

/**
 * A row per attempt and the sum. If not all columns fit, the smallest are combined as `other`, so that rows still add
 * up.
 */
function attemptSection(report: RunReport, width: number): Section {
  const { attemptRows: attempts, jobRows } = report;
  const labels = new Map(jobRows.map((row) => [row.job, rowLabel(row)]));
  const sum = noAmounts();
  for (const { seconds } of attempts) addAmounts(sum, seconds);
  const used = [...columns.slice(slotColumns.length), ...slotColumns].filter((column) => sum[column] > 0);
  const bySize = used.toSorted((a, b) => sum[b] - sum[a]);
  for (let kept = used.length; ; kept -= 1) {
    const [most, least] = [bySize.slice(0, kept), bySize.slice(kept)];
    const shown = used.filter((column) => most.includes(column));
    const parts = given(...shown.map((column) => [column]), least.length > 0 && least);
    const titles = shown.map((column) => columnLabels[column]).concat(least.length === 0 ? [] : 'other');
    const cells = (seconds: Amounts) =>
      [...parts, columns].map((part) => {
        const sum = sumOver(seconds, part);
        return sum === 0 ? '-' : formatMillis(sum * 1000);
      });
    const rows = attempts.map(({ job, attempt, ending, machine, site, seconds }) => [
      ...[labels.get(job) ?? job, attempt, ending, site === '' ? machine : site],
      ...cells(seconds),
    ]);
    const head = `job | try> | end | where | ${[...titles, 'total'].map((title) => `${title}>`).join(' | ')}`;
    const all = [...rows, ['all', attempts.length, '', '', ...cells(sum)]];
    const section = sectionTable('attempts', 'Attempts', head, all);
    if (kept <= 1 || fitTable(section.columns, section.rows, width - 2).hidden.length === 0) return section;
  }
}
