import { clip, longestOf, pad, printable, widthOf, wrap } from '@updraft/base';
import { fitTable } from '@updraft/base/tables';
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
import { rowLabel, type Section, sectionTable, withoutEmptyColumns } from './section.ts';
import { timeSummary } from './sections.ts';
import { formatHours, formatMillis, formatShare } from './format.ts';

/** Width in characters, and the marks for bars. */
export interface TextPage {
  width: number;
  /** Options of the command that show what a narrow page does not, each followed by a comma. */
  all?: string;
  glyphs: { done: string; running: string; failed: string; idle: string };
}

const barWidth = 30;
const maxBarWidth = 76;
/** Longer reasons are cut here, not in the JSON. */
const maxQuoteChars = 390;

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
  [...openingText(report, page), sectionText(parts, page), ...noteLines(report, page)].join('\n');

const noteLines = ({ notes }: LogReport, { width }: TextPage): string[] =>
  notes.flatMap((note) => ['', ...wrap(printable(note), width)]);

/** Plain text without a final newline. */
export const sectionText = (parts: readonly Section[], page: TextPage): string =>
  parts.map((part) => sectionLines(part, page).join('\n')).join('\n\n');

function sectionLines({ title, head, rows, bars, after = [] }: Section, page: TextPage): string[] {
  const { width, glyphs } = page;
  const table = fitTable(
    head.map((column) => ({ ...column, title: printable(column.title) })),
    rows.map((row) => row.map(printable)),
    width - 2,
  );
  const used = longestOf([...table.head, ...table.rows]);
  const [largest, room] = [Math.max(0, ...(bars ?? [])), Math.max(0, Math.min(barWidth, width - used - 4))];
  const drawn = table.rows.map((line, at) => {
    const share = largest === 0 ? 0 : (bars?.[at] ?? 0) / largest;
    return `${pad(line, used)}  ${glyphs.done.repeat(Math.round(share * room))}`.trimEnd();
  });
  return [
    ...wrap(printable(title), width, '', '  '),
    ...[...(head.some((column) => column.title !== '') ? table.head : []), ...drawn].map(
      (line) => `  ${line}`,
    ),
    ...[...after, ...hiddenNote(table.hidden, page.all)].flatMap((line) => {
      const isQuote = line.startsWith('  ');
      const [indent, maxChars] = isQuote ? ['    ', maxQuoteChars] : ['  ', Infinity];
      return wrap(clip(printable(line.trim()), maxChars), width, indent, `${indent}  `);
    }),
  ];
}

/** Which columns were left out on a narrow page, and how to see them. */
export const hiddenNote = (hidden: readonly string[], ways = ''): string[] =>
  hidden.length === 0
    ? []
    : [
        `Not shown at this width: ${hidden.join(', ')}. To see all: ${ways}a wider terminal, or \`| less -S\`.`,
      ];

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
  const isShown = attemptRows.length > 0 && attemptRows.length <= maxAttempts;
  return [
    `run ${printable(run)} (${printable(name)}, pool ${printable(pool)})`,
    '',
    ...openingText(report, page),
    sectionText([...parts, ...(isShown ? [attemptSection(report, page.width)] : [])], page),
    ...noteLines(report, page),
  ].join('\n');
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
    const parts = [...shown.map((column) => [column]), ...(least.length === 0 ? [] : [least])];
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
    if (kept <= 1 || fitTable(section.head, section.rows, width - 2).hidden.length === 0) return section;
  }
}
