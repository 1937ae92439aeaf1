import { numberOf } from '@updraft/base';
import { isReserved, parameterVariable, seedName } from './expand.ts';
import { isGroupEntry, type Matrix, parametersOf } from './matrix.ts';
import type { Scalar } from './spec.ts';
import {
  type KeyPath,
  problemAt,
  problemAtKey,
  type SourceFile,
  type SpecProblem,
  valueAt,
} from './source-file.ts';

const maxJobs = 100_000;

export function checkNumber(source: SourceFile, matrix: Matrix): SpecProblem[] {
  const times = ['jobs', 'repeat'].map((key) => valueAt(source.value, ['run', key]));
  const combined = Object.values(matrix).reduce((product, values) => product * values.length, 1);
  const total = times.reduce<number>((all, each) => all * (typeof each === 'number' ? each : 1), combined);
  if (total <= maxJobs || combined === 1) return [];
  const message = `${combined} combinations make ${total} jobs; expected at most ${maxJobs}`;
  return [problemAt(source, ['run', 'matrix'], message)];
}

export function checkNames(source: SourceFile, matrix: Matrix, hasRepeat: boolean): SpecProblem[] {
  const problems: SpecProblem[] = [];
  const variables = new Map<string, string>();
  for (const { name, at } of placesOfNames(matrix)) {
    const same = variables.get(parameterVariable(name));
    const reserved = isReserved(name)
      ? 'every job has {job} and {index}, and its results have outcome, hours and tries'
      : hasRepeat && name === seedName && '`repeat` gives every job its {seed}';
    if (reserved !== false)
      problems.push(
        problemAtKey(source, at, `this name is reserved: ${reserved}; use another, such as my_${name}`),
      );
    if (same !== undefined)
      problems.push(
        problemAtKey(
          source,
          at,
          same === name
            ? `"${name}" is a parameter already; use another name`
            : `becomes the variable ${parameterVariable(name)}, as "${same}" does; use another name`,
        ),
      );
    variables.set(parameterVariable(name), name);
  }
  return problems;
}

/** Every parameter, and the key that introduces it. */
const placesOfNames = (matrix: Matrix): { name: string; at: KeyPath }[] =>
  Object.entries(matrix).flatMap(([group, entries]) =>
    parametersOf(group, entries).map((name) => {
      const first = entries.findIndex((entry) => isGroupEntry(entry) && Object.hasOwn(entry, name));
      return { name, at: ['run', 'matrix', group, ...(first < 0 ? [] : [first, name])] };
    }),
  );

/** Groups whose entries do not have the same parameters. */
export function checkGroups(source: SourceFile, matrix: Matrix): SpecProblem[] {
  return Object.entries(matrix).flatMap(([group, entries]) => {
    if (!entries.some(isGroupEntry)) return [];
    const names = parametersOf(group, entries);
    return entries.flatMap((entry, index) => {
      const at = ['run', 'matrix', group, index];
      if (!isGroupEntry(entry)) {
        const message = `is no table, but other entries of "${group}" are; expected ${exampleEntry(names)}`;
        return [problemAt(source, at, message)];
      }
      if (names.length === 0) return [problemAt(source, at, 'is an empty table; expected parameters')];
      return names
        .filter((name) => !Object.hasOwn(entry, name))
        .map((name) => problemAt(source, at, missingValue(group, name)));
    });
  });
}

/** The same for `1`, `"1"`, `1.0` and `1e0`, but not for long numbers that differ in their last digits. */
const comparable = (value: Scalar): string =>
  String(Number.isSafeInteger(Math.trunc(numberOf(value) ?? NaN)) ? numberOf(value) : value);

/** The first entry of each list that gives its jobs what an earlier one gives, also as `1e-4` and `0.0001`. */
export const checkTwins = (source: SourceFile, matrix: Matrix): SpecProblem[] =>
  Object.entries(matrix).flatMap(([name, entries]) => {
    const seen = new Map<string, number>();
    for (const [index, entry] of entries.entries()) {
      const values = isGroupEntry(entry) ? Object.entries(entry).sort() : [[name, entry] as const];
      const given = JSON.stringify(values.map(([key, value]) => [key, comparable(value)]));
      const first = seen.get(given);
      seen.set(given, index);
      if (first === undefined) continue;
      const message = `is the same as entry ${first + 1}; remove it: \`repeat\` runs each combination several times`;
      return [problemAt(source, ['run', 'matrix', name, index], message)];
    }
    return [];
  });

const exampleEntry = (names: readonly string[]): string =>
  `a table like { ${names.map((name) => `${name} = "…"`).join(', ')} }`;

const missingValue = (group: string, name: string): string =>
  `has no "${name}", which other entries of "${group}" have; add it, or ${name} = "" to leave out the key that {${name}} fills`;
