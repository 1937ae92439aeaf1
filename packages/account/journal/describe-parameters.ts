import { numberOf, widthOf, withEscapes } from '@updraft/base';
import { shortenDistinct, shortestDistinct, shortNames } from '@updraft/view/tables';

type Value = string | number | boolean;

/** The values of a job's matrix, by name. */
export type Parameters = Readonly<Record<string, Value>>;

/** The name of a parameter; Hydra's have dots: `model.optimizer.lr`. */
export const parameterPattern = String.raw`[A-Za-z_]\w*(?:[.-]\w+)*`;

/** The parameter that `repeat` adds. */
export const seedName = 'seed';

/** Whether a parameter distinguishes repetitions and nothing else: `seed`, `random_seed`, `trainer.seed`. */
const isSeed = (name: string): boolean => /(?:^|[._-])seed$/i.test(name);

/** What the repetitions of a job share. */
export const withoutSeeds = (cell: Parameters): Parameters =>
  Object.fromEntries(Object.entries(cell).filter(([name]) => !isSeed(name)));

/** What `updraft results` says of every job besides its parameters and metrics. */
export const resultNames = ['job', 'outcome', 'hours', 'tries'] as const;

/** A value as one line that people can read; an empty text as `''`. */
export const showValue = (value: Value): string =>
  typeof value === 'string' && value.trim() === '' ? `'${withEscapes(value)}'` : withEscapes(String(value));

/** `lr=0.1 seed=2`; empty for a job without parameters. */
export const describeParameters = (parameters: Parameters = {}): string =>
  Object.entries(parameters)
    .map(([name, value]) => `${name}=${showValue(value)}`)
    .join(' ');

/**
 * The same cells, which JSON gets with numbers as numbers: `1e-4` is a text everywhere else, so that people and
 * commands see it as it was written. What was in quotes stays a text, as far as the other values of its parameter
 * show it: of Python's versions, "3.9" must have been. So do integers too long for most readers of JSON.
 */
export function withJsonNumbers(cells: readonly Parameters[]): Parameters[] {
  const isQuoted = (value: Value | undefined): boolean =>
    typeof value === 'string' && String(numberOf(value)) === value;
  const names = [...new Set(cells.flatMap((cell) => Object.keys(cell)))];
  const numeric = new Set(names.filter((name) => !cells.some((cell) => isQuoted(cell[name]))));
  const inJson = ([name, value]: [string, Value]): [string, Value] => [
    name,
    numeric.has(name) ? (writtenNumber(value) ?? value) : value,
  ];
  return cells.map((cell) =>
    Object.values(cell).every((value) => writtenNumber(value) === undefined) || Object.hasOwn(cell, 'toJSON')
      ? cell
      : Object.defineProperty({ ...cell }, 'toJSON', {
          value: () => Object.fromEntries(Object.entries(cell).map(inJson)),
        }),
  );
}

/** The number that a text of a job file is, such as `1e-4` or `0.0`. */
function writtenNumber(value: Value): number | undefined {
  if (typeof value !== 'string' || !/^-?(?:0|[1-9]\d*|(?=\.\d))(?:\.\d*)?(?:e[-+]?\d+)?$/i.test(value))
    return undefined;
  const number = Number(value);
  const isExact = Number.isSafeInteger(number) || !/^-?\d+$/.test(value);
  return isExact && Number.isFinite(number) ? number : undefined;
}

/** A job as people read it: its number, and its name in the run. `0003 lr=0.1 seed=2` */
export const jobLabel = (id: string, name = ''): string => `${id} ${name}`.trimEnd();

/** A longer value, such as a URL or a path, would hide the others in a name. */
const maxValueChars = 20;

/**
 * The names of a run's jobs, by id: the parameters in which they differ, or all those of an only job, with long values
 * shortened so that they stay different. They follow from the plan alone, which never changes.
 */
export function jobNames(jobs: readonly { id: string; parameters: Parameters }[]): Map<string, string> {
  const cells = jobs.map(({ parameters }) => parameters);
  const texts = nameCells(cells, namingParameters(cells));
  return new Map(jobs.map(({ id }, at) => [id, texts[at] ?? '']));
}

function namingParameters(cells: readonly Parameters[]): string[] {
  const varied = differingParameters(cells);
  return cells.length === 1
    ? Object.keys(cells[0] ?? {})
    : withoutRedundant(cells, varied, longOnes(cells, varied));
}

/** The values in the names of a run's jobs, and what they are of; undefined if some job lacks one. */
export function jobValues(cells: readonly Parameters[]): { keys: string[]; values: string[][] } | undefined {
  const named = namedValues(cells, namingParameters(cells));
  const keys = named[0]?.map(([key]) => key) ?? [];
  if (keys.length === 0 || named.some(({ length }) => length !== keys.length)) return undefined;
  return { keys, values: named.map((values) => values.map(([, value]) => value)) };
}

/** The parameters in which these cells differ, in their order: one that some lack, too. */
export function differingParameters(cells: readonly Parameters[]): string[] {
  const names = [...new Set(cells.flatMap((cell) => Object.keys(cell)))];
  return names.filter((name) => new Set(cells.map((cell) => cell[name])).size > 1);
}

/** A parameter in which jobs differ, as a column of a table. */
export interface ParameterColumn {
  name: string;
  /** Its name in a few characters, different from those of the others. */
  title: string;
  isNumber: boolean;
  /** The texts of all its values. */
  texts: string[];
  textOf: (value: Value) => string;
}

/** Longer titles would widen a column of short values too much. */
const maxTitleChars = 16;

export function parameterColumns(cells: readonly Parameters[]): ParameterColumn[] {
  const names = differingParameters(cells);
  const short = shortNames(names);
  const titles = short.map(shortenDistinct(maxTitleChars, short));
  return names.map((name, at) => {
    const values = [...new Set(cells.flatMap((cell) => cell[name] ?? []))];
    const textOf = shortValues(values);
    const isNumber = values.every((value) => numberOf(value) !== undefined);
    return { name, title: titles[at] ?? name, isNumber, texts: values.map(textOf), textOf };
  });
}

/** Names cells by these parameters, those without a value left out: `data=images.tar lr=0.1`. */
export const nameCells = (cells: readonly Parameters[], names: readonly string[]): string[] =>
  namedValues(cells, names).map((values) => values.map((one) => one.join('=')).join(' '));

function namedValues(
  cells: readonly Parameters[],
  names: readonly string[],
): [key: string, value: string][][] {
  const keys = shortNames(names);
  const texts = names.map((name) => shortValues(cells.flatMap((cell) => cell[name] ?? [])));
  return cells.map((cell) =>
    names.flatMap((name, at): [string, string][] => {
      const value = cell[name];
      return value === undefined ? [] : [[keys[at] ?? name, texts[at]?.(value) ?? '']];
    }),
  );
}

/** The values of a parameter as texts that fit a name or a column; different ones stay different. */
function shortValues(values: Iterable<Value>): (value: Value) => string {
  const all = [...new Set(values)];
  const texts = shortestDistinct(all, 8, textOf) ?? all.map(showValue);
  const words = texts.map(shortenDistinct(maxValueChars, texts));
  const wordOf = new Map(all.map((value, at) => [value, words[at]]));
  return (value) => wordOf.get(value) ?? showValue(value);
}

/** A long fraction, such as a third, has at least four digits. */
const textOf = (value: Value, size: number): string =>
  typeof value === 'number' && !Number.isInteger(value) && String(value).length > 8
    ? String(Number(value.toPrecision(3 + size)))
    : showValue(value);

/**
 * The fewest of these parameters that distinguish all cells, in their order: what belongs together in a group needs one
 * name only, and a short one if there is one. None if all cells are the same.
 */
export function distinguishingParameters(cells: readonly Parameters[], names: readonly string[]): string[] {
  const long = longOnes(cells, names);
  const short = names.filter((name) => !long.includes(name));
  return withoutRedundant(cells, withoutRedundant(cells, names, long), short);
}

/** The parameters with a value too long for a name. */
const longOnes = (cells: readonly Parameters[], names: readonly string[]): string[] =>
  names.filter((name) => cells.some((cell) => widthOf(String(cell[name] ?? '')) > maxValueChars));

/** Without those of `candidates`, the last first, that no two cells need to differ. */
function withoutRedundant(
  cells: readonly Parameters[],
  names: readonly string[],
  candidates: readonly string[],
): string[] {
  const distinct = (kept: readonly string[]): number =>
    new Set(cells.map((cell) => JSON.stringify(kept.map((name) => cell[name] ?? null)))).size;
  const all = distinct(names);
  return candidates.reduceRight<string[]>(
    (kept, name) => {
      const fewer = kept.filter((one) => one !== name);
      return distinct(fewer) === all ? fewer : kept;
    },
    [...names],
  );
}
