import { printable } from '../../base/printable.ts';
import { clip, pad, textTable } from '../../base/text-table.ts';
import type { Section } from './sections.ts';

/** A page: how many characters wide, and the mark its bars are made of. */
interface Page {
  width: number;
  bar: string;
}

const barRoom = 30;
/** Reasons may be of any length; the JSON has them whole. */
const longestLine = 400;

/** Sections as plain text; ends without a line end. */
export function sectionText(parts: readonly Section[], page: Page): string {
  return parts.map((part) => one(part, page).join('\n')).join('\n\n');
}

function one({ title, head, rows, bars, after = [] }: Section, { width, bar }: Page): string[] {
  const most = Math.max(0, ...(bars ?? []));
  const drawn = (index: number) => {
    const share = bars?.[index];
    if (share === undefined || most === 0) return [];
    return [pad(bar.repeat(Math.max(1, Math.round((share / most) * barRoom))), barRoom)];
  };
  const table = textTable(
    [...head, { title: '' }],
    rows.map((row, index) => [...row.map(printable), ...drawn(index)]),
  );
  const titled = head.some((column) => column.title !== '');
  return [
    title,
    ...(titled ? table : table.slice(1)).map((line) => clip(`  ${line}`, width)),
    ...after.map((line) =>
      clip(`  ${line.startsWith('  ') ? '  ' : ''}${printable(line.trim())}`, longestLine),
    ),
  ];
}
