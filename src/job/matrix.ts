import type { Parameters } from '@updraft/account/parameters';
import type { RunOptions, Scalar } from './spec.ts';

/** Parameters with their values, and groups of parameters, whose values belong together. */
export type Matrix = RunOptions['matrix'];

type Entry = Matrix[string][number];

/** An entry of a group, such as `{ method = "osdf", url = "osdf:///a" }`. */
export type GroupEntry = Exclude<Entry, Scalar>;

export const isGroupEntry = (entry: unknown): entry is GroupEntry =>
  typeof entry === 'object' && entry !== null && !Array.isArray(entry) && !(entry instanceof Date);

/** The parameters that a name of the matrix stands for: itself, or those of its group. */
export const parametersOf = (name: string, entries: readonly Entry[]): string[] =>
  entries.some(isGroupEntry)
    ? [...new Set(entries.filter(isGroupEntry).flatMap((entry) => Object.keys(entry)))]
    : [name];

export const parameterNames = (matrix: Matrix): string[] =>
  Object.entries(matrix).flatMap(([name, entries]) => parametersOf(name, entries));

/** Every combination of the matrix's entries, the last changing fastest; one for an empty matrix. */
export function combinations(matrix: Matrix): Record<string, Scalar>[] {
  return Object.entries(matrix).reduce<Record<string, Scalar>[]>(
    (made, [name, entries]) =>
      made.flatMap((one) =>
        entries.map((entry) => ({ ...one, ...(isGroupEntry(entry) ? entry : { [name]: entry }) })),
      ),
    [{}],
  );
}

/** The number of a job's combination, in the order of the job file; undefined for one that the matrix does not have. */
export function combinationNumbers(matrix: Matrix): (parameters: Parameters) => number | undefined {
  const names = parameterNames(matrix);
  const keyOf = (values: Parameters): string => JSON.stringify(names.map((name) => values[name] ?? null));
  const numbers = new Map(combinations(matrix).map((one, at) => [keyOf(one), at]));
  return (parameters) => numbers.get(keyOf(parameters));
}

/**
 * The numbers of these combinations in the order of the queue: any first part of it has every entry of a list as often
 * as the others of that list, give or take one. So a bad hour of the pool hits all values alike.
 *
 * Each step moves to the next entry in every list. After the least common multiple of the lengths that would repeat, so
 * then the lists are shifted against each other; as many shifts are left as make every combination once.
 */
export function balancedOrder(matrix: Matrix): number[] {
  const lengths = Object.values(matrix).map((entries) => entries.length);
  let period = 1;
  let shifts: number[][] = [[]];
  for (const length of lengths) {
    const shared = greatestDivisor(period, length);
    shifts = shifts.flatMap((one) => Array.from({ length: shared }, (_, shift) => [...one, shift]));
    period *= length / shared;
  }
  const numberOf = (step: number, shift: readonly number[]): number =>
    lengths.reduce((number, length, at) => number * length + ((step + (shift[at] ?? 0)) % length), 0);
  return shifts.flatMap((shift) => Array.from({ length: period }, (_, step) => numberOf(step, shift)));
}

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));

/** Where the matrix has the value that a job has of a parameter: the key or group, the position, the key of a group. */
export function entryPath(
  matrix: Matrix,
  parameter: string,
  values: Readonly<Record<string, Scalar>>,
): (string | number)[] | undefined {
  for (const [key, entries] of Object.entries(matrix)) {
    const at = entries.findIndex((entry) =>
      isGroupEntry(entry)
        ? Object.hasOwn(entry, parameter) &&
          Object.entries(entry).every(([name, value]) => values[name] === value)
        : key === parameter && values[key] === entry,
    );
    if (at >= 0) return [key, at, ...(isGroupEntry(entries[at]) ? [parameter] : [])];
  }
  return undefined;
}
