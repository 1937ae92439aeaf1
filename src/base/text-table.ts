export interface TableColumn {
  title: string;
  align?: 'left' | 'right';
}

/** The width of a text on a terminal, counting one per code point. */
export const widthOf = (text: string): number => Array.from(text).length;

/** The text in at most `width` characters; cut text ends with an ellipsis. */
export function clip(text: string, width: number): string {
  const chars = Array.from(text);
  if (chars.length <= width) return text;
  return width <= 0 ? '' : `${chars.slice(0, width - 1).join('')}…`;
}

export function pad(text: string, width: number, align: 'left' | 'right' = 'left'): string {
  const space = ' '.repeat(Math.max(0, width - widthOf(text)));
  return align === 'left' ? text + space : space + text;
}

/** The lines of a table, titles first; columns that are empty in every row are left out. */
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
