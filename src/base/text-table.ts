export interface TableColumn {
  title: string;
  align?: 'left' | 'right';
}

/** Characters a text takes on a terminal, as far as one per code point is right. */
export const widthOf = (text: string): number => Array.from(text).length;

/** The text in at most `width` characters; what is left out is shown as an ellipsis. */
export function clip(text: string, width: number): string {
  const chars = Array.from(text);
  if (chars.length <= width) return text;
  return width <= 0 ? '' : `${chars.slice(0, width - 1).join('')}…`;
}

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'left' ? text + space : space + text;
}

/** Lines of a table with a line of titles; columns that are empty in every row are left out. */
export function textTable(columns: readonly TableColumn[], rows: readonly (readonly string[])[]): string[] {
  const shown = columns
    .map((column, index) => ({
      ...column,
      index,
      width: rows.reduce((max, row) => Math.max(max, widthOf(row[index] ?? '')), widthOf(column.title)),
    }))
    .filter(({ index }) => rows.some((row) => (row[index] ?? '') !== ''));
  const line = (cell: (index: number, title: string) => string) =>
    shown
      .map(({ index, title, width, align }) => pad(cell(index, title), width, align))
      .join('  ')
      .trimEnd();
  return [line((_index, title) => title), ...rows.map((row) => line((index) => row[index] ?? ''))];
}
