import { printable } from '../base/printable.ts';
import { clip, pad, textTable, widthOf } from '../base/text-table.ts';
import type { Section } from './sections.ts';

/** A page: how many characters wide, and the mark its bars are made of. */
export interface TextPage {
  width: number;
  bar: string;
}

const barRoom = 30;
/** Reasons may be of any length; the JSON has them whole. */
const longestLine = 400;

/** Sections as plain text; ends without a line end. */
export function sectionText(parts: readonly Section[], page: TextPage): string {
  return parts.map((part) => one(part, page).join('\n')).join('\n\n');
}

function one({ title, head, rows, bars, after = [] }: Section, { width, bar }: TextPage): string[] {
  const most = Math.max(0, ...(bars ?? []));
  const drawn = (index: number) => {
    const share = bars?.[index];
    if (share === undefined || most === 0) return [];
    return [pad(bar.repeat(Math.round((share / most) * barRoom)), barRoom)];
  };
  const table = textTable(
    [...head, { title: '' }],
    rows.map((row, index) => [...row.map(printable), ...drawn(index)]),
  );
  const titled = head.some((column) => column.title !== '');
  return [
    title,
    ...(titled ? table : table.slice(1)).map((line) => clip(`  ${line}`, width)),
    ...after.flatMap((line) => {
      const indent = line.startsWith('  ') ? '    ' : '  ';
      return wrap(clip(printable(line.trim()), longestLine), width - indent.length - 2).map(
        (part, index) => `${indent}${index === 0 ? '' : '  '}${part}`,
      );
    }),
  ];
}

/** Lines of at most `width` characters, broken between words where there are any. */
function wrap(text: string, width: number): string[] {
  const lines = [''];
  for (const word of text.split(' ')) {
    const last = lines.at(-1) ?? '';
    if (last !== '' && widthOf(last) + 1 + widthOf(word) > width) lines.push(word);
    else lines[lines.length - 1] = last === '' ? word : `${last} ${word}`;
  }
  return lines;
}
