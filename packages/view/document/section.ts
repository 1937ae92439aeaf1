import type { FitColumn } from '../tables/fit-table.ts';

/** A part of a report: a table and sentences, rendered as text, Markdown or HTML. */
export interface Section {
  id: string;
  title: string;
  head: (FitColumn & { align?: 'right' })[];
  /** Plain text, not yet escaped. */
  rows: string[][];
  /** A share per row, drawn as a bar. */
  bars?: number[];
  /** Sentences below the table; those that begin with two spaces are quotations. */
  after?: string[];
}

export interface Chart {
  /** The id of its section; `top` comes before all sections. */
  section: string;
  title: string;
  /** SVG markup. */
  svg: string;
}

/** The sentence that a page begins with. */
export interface PageVerdict {
  text: string;
  /** A line to copy. */
  line: string | null;
}

/** `head` has the column titles, separated by `|`; those of right-aligned columns end in `>`. */
export function sectionTable(
  id: string,
  title: string,
  head: string,
  rows: readonly (readonly (string | number)[])[],
  more: Pick<Section, 'bars' | 'after'> = {},
): Section {
  const heads = head.split('|').map((text) => {
    const words = text.trim();
    return words.endsWith('>') ? { title: words.slice(0, -1), align: 'right' as const } : { title: words };
  });
  return { id, title, head: heads, rows: rows.map((row) => row.map(String)), ...more };
}

/** For where a table is not made narrower by itself. The first column stays. */
export function withoutEmptyColumns(section: Section): Section {
  const { head, rows } = section;
  const isKept = (_: unknown, column: number): boolean =>
    column === 0 || rows.some((row) => (row[column] ?? '') !== '');
  return { ...section, head: head.filter(isKept), rows: rows.map((row) => row.filter(isKept)) };
}
