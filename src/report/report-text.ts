import { printable } from '../base/printable.ts';
import { clip, pad, textTable, widthOf, wrap } from '../base/text-table.ts';
import { addAmounts, columns, noAmounts, slotColumns, sumOver, type Column } from './columns.ts';
import type { RunAttempt, RunReport } from './read-run.ts';
import type { LogReport } from './log-report.ts';
import { type Section, withoutEmptyColumns } from './section.ts';
import { timeSummary } from './sections.ts';
import { formatHours, formatMillis, formatShare } from './format.ts';

/** Width in characters, and the marks for bars. */
export interface TextPage {
  width: number;
  glyphs: { done: string; running: string; failed: string; idle: string };
}

const barWidth = 30;
const maxBarWidth = 76;
/** Names in the first column are not cut below this. */
const minNameWidth = 16;
/** Longer reasons are cut here, not in the JSON. */
const maxLineChars = 400;

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
export function reportText(report: LogReport, parts: readonly Section[], page: TextPage): string {
  return [...openingText(report, page), sectionText(parts, page), ...noteLines(report, page)].join('\n');
}

const noteLines = ({ notes }: LogReport, { width }: TextPage): string[] =>
  notes.flatMap((note) => ['', ...wrap(printable(note), width)]);

/** Plain text without a final newline. */
export function sectionText(parts: readonly Section[], page: TextPage): string {
  return parts.map((part) => sectionLines(part, page).join('\n')).join('\n\n');
}

function sectionLines({ title, head, rows, bars, after: notes = [] }: Section, page: TextPage): string[] {
  const { width, glyphs } = page;
  const longest = Math.max(0, ...(bars ?? []));
  const drawn = (index: number, room: number) => {
    const share = bars?.[index];
    if (share === undefined || longest === 0 || room <= 0) return [];
    return [pad(glyphs.done.repeat(Math.round((share / longest) * room)), room)];
  };
  const tableOf = (shown: number, room = 0, nameWidth = Infinity) =>
    textTable(
      [
        ...head.slice(0, shown).map((column) => ({ ...column, title: printable(column.title) })),
        { title: '' },
      ],
      rows.map((row, index) => [
        ...row.slice(0, shown).map((cell, at) => clip(printable(cell), at === 0 ? nameWidth : Infinity)),
        ...drawn(index, room),
      ]),
    );
  const excessOf = (lines: readonly string[]) => Math.max(0, ...lines.map(widthOf)) + 2 - width;
  // Numbers are shown completely or not at all; words may be cut.
  let shown = head.length;
  while (head[shown - 1]?.align === 'right' && excessOf(tableOf(shown)) > 0) shown -= 1;
  const excess = excessOf(tableOf(shown));
  const longestName = Math.max(0, ...rows.map(([name = '']) => widthOf(name)));
  const table =
    excess > 0
      ? tableOf(shown, 0, Math.max(minNameWidth, longestName - excess))
      : tableOf(shown, Math.min(barWidth, -excess - 2));
  const hidden = head.flatMap((column, index) =>
    index >= shown && rows.some((row) => (row[index] ?? '') !== '') ? [column.title] : [],
  );
  const after = hidden.length === 0 ? notes : [...notes, `Not shown at this width: ${hidden.join(', ')}.`];
  const titled = head.some((column) => column.title !== '');
  return [
    title,
    ...(titled ? table : table.slice(1)).map((line) => clip(`  ${line}`, width)),
    ...after.flatMap((line) => {
      const indent = line.startsWith('  ') ? '    ' : '  ';
      return wrap(clip(printable(line.trim()), maxLineChars), width, indent, `${indent}  `);
    }),
  ];
}

/** Markdown, the verdict first, without a final newline. */
export function reportMarkdown(title: string, parts: readonly Section[], report?: LogReport): string {
  const { text, line } = report?.verdict ?? {};
  return [
    `# ${escapeMarkdown(title)}`,
    ...(text === undefined ? [] : [escapeMarkdown(text)]),
    ...(typeof line === 'string' ? [`    ${printable(line)}`] : []),
    ...parts.map(sectionMarkdown),
  ].join('\n\n');
}

function sectionMarkdown(section: Section): string {
  const { title, head, rows, after = [] } = withoutEmptyColumns(section);
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const table = [
    line(head.map((column) => escapeMarkdown(column.title))),
    line(head.map(({ align }) => (align === 'right' ? '---:' : '---'))),
    ...rows.map((row) => line(row.map(escapeMarkdown))),
  ];
  return [
    `## ${escapeMarkdown(title)}\n\n${table.join('\n')}`,
    ...after.map((text) =>
      text.startsWith('  ') ? `> ${escapeMarkdown(text.trim())}` : escapeMarkdown(text),
    ),
  ].join('\n\n');
}

/** Escapes Markdown and HTML. */
const escapeMarkdown = (text: string): string =>
  printable(text).replaceAll(/[\\`*_[\]<>|#~&!]/g, (mark) => `\\${mark}`);

/** More attempts are only listed by `--csv`. */
const maxAttempts = 30;

/** A run's report: that of its log, plus each attempt; without a final newline. */
export function runText(report: RunReport, parts: readonly Section[], page: TextPage): string {
  const { run, name, pool, attemptRows } = report;
  const table =
    attemptRows.length === 0 || attemptRows.length > maxAttempts
      ? []
      : ['', 'Attempts', ...attemptTable(attemptRows, page.width - 2).map((line) => `  ${line}`)];
  return [
    `run ${printable(run)} (${printable(name)}, pool ${printable(pool)})`,
    '',
    ...openingText(report, page),
    sectionText(parts, page),
    ...table,
    ...noteLines(report, page),
  ].join('\n');
}

/**
 * A row per attempt and the sum. If not all columns fit, the smallest are combined as `other`, so that rows still add
 * up.
 */
function attemptTable(attempts: readonly RunAttempt[], width: number): string[] {
  const sum = noAmounts();
  for (const { seconds } of attempts) addAmounts(sum, seconds);
  const all = { job: 'all', attempt: attempts.length, ending: '', machine: '', site: '', seconds: sum };
  const rows = [...attempts, all];
  const used = [...columns.slice(slotColumns.length), ...slotColumns].filter((column) => sum[column] > 0);
  const bySize = used.toSorted((a, b) => sum[b] - sum[a]);
  for (let kept = used.length; ; kept -= 1) {
    const shown = new Set(bySize.slice(0, kept));
    const table = tableOf(
      rows,
      used.filter((column) => shown.has(column)),
      used.filter((column) => !shown.has(column)),
    );
    if (kept <= 1 || table.every((line) => widthOf(line) <= width)) return table;
  }
}

type Shown = Pick<RunAttempt, 'job' | 'attempt' | 'machine' | 'site' | 'seconds'> & { ending: string };

function tableOf(attempts: readonly Shown[], shown: Column[], other: Column[]): string[] {
  const show = (seconds: number) => (seconds === 0 ? '-' : formatMillis(seconds * 1000));
  const rows = attempts.map(({ job, attempt, ending, machine, site, seconds }) => [
    printable(job),
    String(attempt),
    ending,
    clip(printable(site === '' ? machine : site), 16),
    ...shown.map((column) => show(seconds[column])),
    other.length === 0 ? '' : show(sumOver(seconds, other)),
    formatMillis(sumOver(seconds, columns) * 1000),
  ]);
  const right = (title: string) => ({ title, align: 'right' as const });
  const titles = [...shown.map((column) => right(short[column])), right('other'), right('total')];
  return textTable([{ title: 'job' }, right('try'), { title: 'end' }, { title: 'where' }, ...titles], rows);
}

/** Short titles, so that more columns fit. */
const short: Record<Column, string> = {
  usefulCompute: 'useful',
  usefulTransfer: 'fetch',
  unpacking: 'unpack',
  waitingForData: 'wait',
  saving: 'save',
  returning: 'return',
  retriedTransfer: 'stalled',
  lostToEviction: 'evicted',
  lostToTimeLimit: 'too long',
  lostToWrongOutput: 'wrong',
  lostToFailure: 'failed',
  lostToRemoval: 'removed',
  suspended: 'suspended',
  overhead: 'over',
  underWay: 'open',
  unknown: 'unknown',
  queued: 'queued',
  idle: 'idle',
  held: 'held',
};
