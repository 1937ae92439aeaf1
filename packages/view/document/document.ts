import type { FitColumn } from '../tables/fit-table.ts';

/** Lines of a file, and where they are. Code is cut where it does not fit, other lines are wrapped. */
export interface Quote {
  place: string;
  lines: readonly string[];
  isCode?: boolean;
}

/** Texts beside the label they belong to; those that begin with spaces are details. None: not shown. */
export type Fact = readonly [label: string, ...texts: (string | Quote)[]];

/** A command line, and what it does. */
export type NamedCommand = readonly [command: string, what: string];

/** What is wrong by one rule, at some places, and how to fix it; lines to write follow the fix. */
interface Problem {
  rule: string;
  at: readonly (Quote & { message: string })[];
  fix: string;
}

/** A table of plain text, not yet escaped. */
export interface Table {
  columns: readonly FitColumn[];
  rows: readonly (readonly string[])[];
  /** A share per row, drawn as a bar. */
  bars?: readonly number[];
  /** Sentences below the table; those that begin with two spaces are quotations. */
  after?: readonly string[];
}

/** A part of a report: a table with a title. */
export interface Section extends Table {
  id: string;
  title: string;
}

/**
 * A part of a page: sentences (empty for an empty line), the title of what follows, facts below one, a table, what is
 * wrong, or commands to copy. A title below another has a level, which says how bad it is.
 */
export type Block =
  | string
  | { title: string; level?: string }
  | { facts: readonly Fact[]; indent?: '' }
  | Table
  | Section
  | Problem
  | { commands: readonly NamedCommand[] };

/** What a command shows to people. */
export type Document = readonly Block[];

/** Several pages as one, with an empty line between two. */
export const joinPages = (pages: readonly Document[]): Document =>
  pages.flatMap((page, at) => (at === 0 ? page : ['', ...page]));

/** What was found, by level. What has only a title is a sentence. */
export const groupedProblems = (
  groups: readonly {
    level: string;
    title: string;
    findings: readonly (Problem['at'][number] & Omit<Problem, 'at'>)[];
  }[],
): Document =>
  groups.flatMap(({ level, title, findings }): Document => {
    const problems = findings.map(({ rule, fix, ...at }) => ({ rule, fix, at: [at] }));
    return ['', problems.length === 0 ? title : { title, level }, ...problems];
  });

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
  more: Pick<Table, 'bars' | 'after'> = {},
): Section {
  const columns = head.split('|').map((text) => {
    const words = text.trim();
    return words.endsWith('>') ? { title: words.slice(0, -1), align: 'right' as const } : { title: words };
  });
  return { id, title, columns, rows: rows.map((row) => row.map(String)), ...more };
}

/** For where a table is not made narrower by itself. The first column stays. */
export function withoutEmptyColumns(section: Section): Section {
  const { columns, rows } = section;
  const isKept = (_: unknown, column: number): boolean =>
    column === 0 || rows.some((row) => (row[column] ?? '') !== '');
  return { ...section, columns: columns.filter(isKept), rows: rows.map((row) => row.filter(isKept)) };
}
