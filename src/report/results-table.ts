import { compareValues, numberOf, widthOf } from '../base/text-table.ts';
import { nearest } from '../base/nearest.ts';
import { Fault } from '../fault/fault.ts';
import { csvLine } from './attempt-csv.ts';
import { type JobTableRow, valueNames } from './job-table.ts';
import { type Section, sectionTable } from './section.ts';

/** A column of the results: what it is called, and its value for a job. */
interface ResultColumn {
  name: string;
  isNumber: boolean;
  of: (row: JobTableRow) => string | number | boolean | undefined;
}

/** What a job was given, how it ended, what it measured last, and at best where that differs. */
function resultColumns(rows: readonly JobTableRow[]): ResultColumn[] {
  const column = (name: string, of: ResultColumn['of']): ResultColumn => {
    const values = rows.map(of).filter((value) => value !== undefined);
    const isNumber = (value: unknown): boolean => typeof value === 'number' || numberOf(value) !== undefined;
    return { name, of, isNumber: name !== 'job' && values.length > 0 && values.every(isNumber) };
  };
  const differs = (name: string): boolean =>
    rows.some(({ metrics, best }) => !Object.is(metrics[name], best[name]));
  const [given, measured] = [valueNames(rows, 'parameters'), valueNames(rows, 'metrics')];
  // A training that reports its learning rate must not have two columns of one name.
  const taken = new Set(['job', 'outcome', 'hours', 'tries', ...given]);
  return [
    column('job', ({ job }) => job),
    ...given.map((name) => column(name, ({ parameters }) => parameters[name])),
    column('outcome', ({ outcome }) => (outcome === 'wrongOutput' ? 'wrong output' : outcome)),
    ...measured.map((name) =>
      column(taken.has(name) ? `last_${name}` : name, ({ metrics }) => metrics[name]),
    ),
    ...valueNames(rows, 'best')
      .filter((name) => differs(name) && !measured.includes(`best_${name}`))
      .map((name) => column(`best_${name}`, ({ best }) => best[name])),
    column('hours', ({ executeSeconds }) => (executeSeconds === null ? undefined : executeSeconds / 3600)),
    column('tries', ({ attempts }) => attempts),
  ];
}

/** Which rows to show, and in which order. */
export interface ResultChoice {
  /** The name of a column; with `-` before it, the largest first. */
  sort?: string | undefined;
  top?: number | undefined;
}

/** The rows in the order asked for; those without a value, or with NaN, come last. */
export function sortResults(rows: readonly JobTableRow[], { sort, top }: ResultChoice): JobTableRow[] {
  const chosen = sort === undefined ? [...rows] : sortedBy(rows, sort);
  return chosen.slice(0, top);
}

function sortedBy(rows: readonly JobTableRow[], sort: string): JobTableRow[] {
  const [, sign, name = ''] = /^(-?)(.*)$/s.exec(sort) ?? [];
  const columns = resultColumns(rows);
  const column = columns.find((one) => one.name === name);
  // All `best_` values can be sorted by, shown or not.
  const best = /^best_(.+)$/.exec(name)?.[1];
  const of = column?.of ?? (best === undefined ? undefined : (row: JobTableRow) => row.best[best]);
  // A run that has just started: the metric may come.
  if (column === undefined && valueNames(rows, 'metrics').length === 0) return [...rows];
  if (of === undefined || (column === undefined && !rows.some((row) => of(row) !== undefined)))
    throw noColumn(
      name,
      columns.map((one) => one.name),
    );
  const isLacking = (row: JobTableRow): boolean => of(row) === undefined || Number.isNaN(of(row));
  const known = rows.filter((row) => !isLacking(row));
  const ordered = known.sort((a, b) => compareValues(of(a), of(b)) * (sign === '-' ? -1 : 1));
  return [...ordered, ...rows.filter(isLacking)];
}

function noColumn(name: string, names: string[]): Fault {
  const close = nearest(name, names);
  return new Fault('usage', `the results have no column "${name}"`, {
    about: name,
    fix: `sort by ${close === undefined ? names.join(', ') : `${close}; there are: ${names.join(', ')}`}`,
  });
}

/** The results as a table of text, Markdown or HTML; what they are sorted by is never left out on a narrow page. */
export function resultsSection(rows: readonly JobTableRow[], sort = ''): Section {
  const filled = resultColumns(rows).filter(({ of }) => rows.some((row) => (of(row) ?? '') !== ''));
  const [name, isFirst] = [sort.replace(/^-/, ''), new Set(['job', ...valueNames(rows, 'parameters')])];
  const rank = (column: ResultColumn): number =>
    isFirst.has(column.name) ? 0 : column.name === name ? 1 : column.name === 'outcome' ? 2 : 3;
  const columns = filled.toSorted((a, b) => rank(a) - rank(b));
  const head = columns.map(({ name, isNumber }) => `${name}${isNumber ? '>' : ''}`).join(' | ');
  return sectionTable(
    'results',
    'Results',
    head,
    rows.map((row) => columns.map(({ name, of }) => shown(of(row), name === 'hours' ? 3 : 4))),
  );
}

/** A longer value, such as a URL, would leave no room for metrics on a terminal. */
const maxCellChars = 20;

/** The same for a terminal: of long values only their ends, which differ. */
export function shortResults(section: Section): Section {
  const cut = (cell: string, column: number): string =>
    column === 0 || widthOf(cell) <= maxCellChars
      ? cell
      : `…${Array.from(cell)
          .slice(1 - maxCellChars)
          .join('')}`;
  return { ...section, rows: section.rows.map((row) => row.map(cut)) };
}

const shown = (value: string | number | boolean | undefined, digits: number): string => {
  if (typeof value !== 'number') return String(value ?? '');
  return Number.isFinite(value) ? String(Number(value.toPrecision(digits))) : String(value);
};

/** The same with all digits, for other programs. */
export function* resultsCsv(rows: readonly JobTableRow[]): Generator<string> {
  const columns = resultColumns(rows);
  yield csvLine(columns.map(({ name }) => name));
  for (const row of rows) yield csvLine(columns.map(({ of }) => String(of(row) ?? '')));
}

/** `{ job, parameters, outcome, valid, metrics, best, … }` of each job. */
export const resultsJson = (rows: readonly JobTableRow[]): object[] =>
  rows.map(({ job, parameters, outcome, valid, metrics, best, executeSeconds, attempts }) => ({
    ...{ job, parameters, outcome, valid, metrics, best, executeSeconds, attempts },
  }));
