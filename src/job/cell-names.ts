import { isShortValue } from './describe-parameters.ts';
import type { Scalar } from './spec.ts';

type Values = Readonly<Record<string, Scalar>>;

/**
 * The fewest of these parameters that distinguish all cells, in their order: what belongs together in a group needs one
 * name only, and a short one if there is one. None if all cells are the same.
 */
export function distinguishingParameters(cells: readonly Values[], names: readonly string[]): string[] {
  const distinct = (kept: readonly string[]): number =>
    new Set(cells.map((cell) => JSON.stringify(kept.map((name) => cell[name] ?? null)))).size;
  const all = distinct(names);
  const isLong = (name: string): boolean => cells.some((cell) => !isShortValue(cell[name] ?? ''));
  const last = names.toReversed();
  const candidates = [...last.filter(isLong), ...last.filter((name) => !isLong(name))];
  const without = (kept: readonly string[], name: string) => kept.filter((one) => one !== name);
  return candidates.reduce<readonly string[]>(
    (kept, name) => (distinct(without(kept, name)) === all ? without(kept, name) : kept),
    names,
  ) as string[];
}

/** These parameters of a cell, in this order. */
export const pickParameters = (cell: Values, names: readonly string[]): Record<string, Scalar> =>
  Object.fromEntries(names.flatMap((name) => (cell[name] === undefined ? [] : [[name, cell[name]]])));
