import { clip, longestOf, pad, printable, wrap } from '@updraft/base';
import { fitTable } from '../tables/fit-table.ts';
import type { Section } from './section.ts';

/** Width in characters, and the marks for bars. */
export interface TextPage {
  width: number;
  /** Options of the command that show what a narrow page does not, each followed by a comma. */
  all?: string;
  glyphs: { done: string; running: string; failed: string; idle: string };
}

const barWidth = 30;
/** Longer reasons are cut here, not in the JSON. */
const maxQuoteChars = 390;

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
