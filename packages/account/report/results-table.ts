import { byImportance, type MetricDirections } from '@updraft/base/training';
import { alternatives, compareValues, defined, numberOf } from '@updraft/base';
import { shortNames } from '@updraft/view/tables';
import { Fault } from '../fault/fault.ts';
import { resultNames, showValue } from '../journal/describe-parameters.ts';
import { csvLine, type Section } from '@updraft/view/document';
import { type JobTableRow, valueNames } from './job-table.ts';

/** A column of the results: what it is called, and its value for a job. */
interface ResultColumn {
  name: string;
  /** Shorter where that is still different: `lr` for `model.optimizer.lr`. */
  title: string;
  isNumber: boolean;
  /** Whether it is a parameter. */
  isGiven?: true;
  /** Whether it is the same as another, and only sorted by. */
  isHidden?: boolean;
  of: (row: JobTableRow) => string | number | boolean | undefined;
}

/** A job may lack a value that is called like what every object has, such as `constructor`. */
const own = <T>(values: Readonly<Record<string, T>>, name: string): T | undefined =>
  Object.hasOwn(values, name) ? values[name] : undefined;

/** What a job was given, how it ended, what it measured last, and at best where that differs. */
function resultColumns(rows: readonly JobTableRow[]): ResultColumn[] {
  const column = (name: string, of: ResultColumn['of']): ResultColumn => {
    const values = rows.map(of).filter((value) => value !== undefined);
    const isNumber = (value: unknown): boolean => typeof value === 'number' || numberOf(value) !== undefined;
    return { name, title: name, of, isNumber: name !== 'job' && values.length > 0 && values.every(isNumber) };
  };
  const differs = (name: string): boolean =>
    rows.some(({ metrics, best }) => !Object.is(own(metrics, name), own(best, name)));
  const [given, measured] = [valueNames(rows, 'parameters'), valueNames(rows, 'metrics')];
  const titles = shortNames([...given, ...measured]);
  const taken = new Set<string>(resultNames);
  // Earlier versions allowed parameters of any name.
  const parameters = given.map((name, at): ResultColumn => {
    const all = column(freeName(name, 'parameter_', taken), (row) => own(row.parameters, name));
    const title = titles[at] ?? name;
    return { ...all, isGiven: true, title: taken.has(title) ? all.name : title };
  });
  const bests = valueNames(rows, 'best').map((name) => ({
    ...column(freeName(`best_${name}`, 'best_', taken), (row) => own(row.best, name)),
    isHidden: !differs(name),
  }));
  // A training that reports its learning rate must not have two columns of one name.
  const metrics = measured.map((name) =>
    column(freeName(name, 'last_', taken), (row) => own(row.metrics, name)),
  );
  return [
    column('job', ({ job }) => job),
    ...parameters,
    column('outcome', ({ outcome, stoppedEarly }) => (stoppedEarly === true ? 'stopped-early' : outcome)),
    {
      ...column(freeName('rung', 'search_', taken), ({ rung }) => rung),
      isHidden: !rows.some(({ rung }) => rung),
    },
    ...metrics,
    ...bests,
    column('hours', ({ executeTotalSeconds: all }) => (all === null ? undefined : all / 3600)),
    column('tries', ({ attempts }) => attempts),
  ];
}

const shownColumns = (rows: readonly JobTableRow[]): ResultColumn[] =>
  resultColumns(rows).filter(({ isHidden }) => isHidden !== true);

/** The name, or with the prefix if another column has it. */
function freeName(name: string, prefix: string, taken: Set<string>): string {
  const free = taken.has(name) ? freeName(prefix + name, prefix, taken) : name;
  taken.add(free);
  return free;
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

const columnNamed = (columns: readonly ResultColumn[], name: string): ResultColumn | undefined =>
  columns.find((one) => one.name === name) ?? columns.find((one) => one.title === name);

function sortedBy(rows: readonly JobTableRow[], sort: string): JobTableRow[] {
  const [, sign, name = ''] = /^(-?)(.*)$/s.exec(sort) ?? [];
  const columns = resultColumns(rows);
  const of = columnNamed(columns, name)?.of;
  // A run that has just started: the metric may come.
  if (of === undefined && valueNames(rows, 'metrics').length === 0) return [...rows];
  if (of === undefined) throw noColumn(name, columns);
  const isLacking = (row: JobTableRow): boolean => of(row) === undefined || Number.isNaN(of(row));
  const known = rows.filter((row) => !isLacking(row));
  const ordered = known.sort((a, b) => compareValues(of(a), of(b)) * (sign === '-' ? -1 : 1));
  return [...ordered, ...rows.filter(isLacking)];
}

function noColumn(name: string, columns: readonly ResultColumn[]): Fault {
  const names = columns.map((one) => one.name);
  const fix = `sort by ${alternatives(name, names)}`;
  return new Fault('usage', `the results have no column "${name}"`, { about: name, fix });
}

interface ResultView {
  sort?: string | undefined;
  all?: readonly JobTableRow[];
  directions?: MetricDirections | undefined;
}

/**
 * The results as a table of text, Markdown or HTML: `rows` of `all` the jobs. Parameters that are the same in all jobs
 * are a sentence. On a narrow page, what the rows are sorted by, or most likely decides, stays longest.
 */
export function resultsSection(
  rows: readonly JobTableRow[],
  { sort, all = rows, directions }: ResultView = {},
): Section {
  const found = shownColumns(rows);
  const asked = sort?.replace(/^-/, '');
  const sortedBy = (asked === undefined ? undefined : columnNamed(found, asked)?.name) ?? asked;
  const [deciding = 'job'] = byImportance(valueNames(rows, 'metrics'), directions);
  const key = sortedBy ?? deciding;
  const [first, second] = all;
  const isSame = ({ name, isGiven, of }: ResultColumn): boolean =>
    isGiven === true && name !== key && all.every((row) => first !== undefined && of(row) === of(first));
  const same = second === undefined ? [] : found.filter(isSame);
  const order = ({ name, isGiven }: ResultColumn): number =>
    name === 'job' || isGiven === true ? 0 : name === sortedBy ? 1 : name === 'outcome' ? 2 : 3;
  const columns = found
    .filter((column) => !same.includes(column) && rows.some((row) => column.of(row) !== undefined))
    .toSorted((a, b) => order(a) - order(b));
  const ranks: Record<string, number> = { hours: 4, tries: 4, outcome: 1, [deciding]: 1, [key]: 0, job: 0 };
  const head = columns.map(({ name, title, isNumber, isGiven = false }) => ({
    title,
    ...(isNumber ? { align: 'right' as const } : {}),
    rank: own(ranks, name) ?? (isGiven ? 2 : 3),
    ...(isGiven ? { minWidth: minParameterWidth, isValue: true } : {}),
  }));
  const said = same.map(({ name, of }) => `${name}=${showValue((first && of(first)) ?? '')}`).join(', ');
  return {
    id: 'results',
    title: 'Results',
    columns: head,
    rows: rows.map((row) => columns.map(({ of, isGiven }) => shown(of(row), isGiven))),
    after: said === '' ? [] : [`Same in all: ${said}.`],
  };
}

/** Values differ in less room than other words need. */
const minParameterWidth = 10;

/** What was given is shown as it was. */
function shown(value: string | number | boolean | undefined, isGiven = false): string {
  if (value === undefined) return '';
  return typeof value !== 'number' || isGiven || Number.isInteger(value) || !Number.isFinite(value)
    ? showValue(value)
    : String(Number(value.toPrecision(4)));
}

/** The same with all digits, for other programs: `rows` of `all` the jobs, which have the same columns. */
export function* resultsCsv(rows: readonly JobTableRow[], all = rows): Generator<string> {
  const columns = shownColumns(all);
  yield csvLine(columns.map(({ name }) => name));
  for (const row of rows) yield csvLine(columns.map(({ of }) => String(of(row) ?? '')));
}

/** JSON has no NaN: it is the text "NaN", which `float()` of Python and `Number()` of JavaScript read. */
const asJson = (values: JobTableRow['metrics']): object =>
  JSON.parse(JSON.stringify(values, (_, one: unknown) => (isOdd(one) ? String(one) : one))) as object;
const isOdd = (value: unknown): boolean => typeof value === 'number' && !Number.isFinite(value);

/** `{ job, parameters, outcome, valid, metrics, best, … }` of each job. */
export const resultsJson = (rows: readonly JobTableRow[]): object[] =>
  rows.map(({ job, parameters, outcome, valid, metrics, best, attempts, ...row }) => ({
    job,
    parameters,
    outcome,
    valid,
    metrics: asJson(metrics),
    best: asJson(best),
    ...defined({ rung: row.rung, stoppedEarly: row.stoppedEarly }),
    executeSeconds: row.executeSeconds,
    executeTotalSeconds: row.executeTotalSeconds,
    attempts,
  }));
