import { compareValues } from '@updraft/base';
import { jobNames, withoutSeeds } from '@updraft/account/parameters';
import { shortNumber } from '@updraft/view/charts';
import type { BoardRow, ParameterValue } from './page-data.ts';
import { bestFirst, type Measured, measuredBy } from './row-order.ts';

/** Jobs that differ in nothing but a seed, as one row: it measured their mean. */
export interface Repetitions {
  row: BoardRow;
  members: readonly BoardRow[];
}

/** Pure; a job without a seed is alone. */
export function repetitionsOf(
  rows: readonly BoardRow[],
  measured: Measured,
  isGrouped = true,
): Repetitions[] {
  const shared = new Map(rows.map(({ id, parameters }) => [id, withoutSeeds(parameters)]));
  const cellOf = ({ id, parameters }: BoardRow): string => {
    const cell = shared.get(id) ?? {};
    const hasSeed = Object.keys(cell).length < Object.keys(parameters).length;
    return isGrouped && hasSeed ? JSON.stringify(cell) : id;
  };
  const groups = [...Map.groupBy(rows, cellOf).values()];
  if (groups.length === rows.length) return rows.map((row) => ({ row, members: [row] }));
  const ids = groups.map(([first]) => first?.id ?? '');
  const names = jobNames(ids.map((id) => ({ id, parameters: shared.get(id) ?? {} })));
  return groups.flatMap((members) => {
    const [first] = members;
    if (first === undefined) return [];
    const values = members.flatMap((row) => measuredBy(row, measured) ?? []);
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const { best: _best, metrics: _metrics, ...rest } = first;
    const row = {
      ...rest,
      name: names.get(first.id) ?? '',
      parameters: shared.get(first.id) ?? {},
      metrics: values.length === 0 ? {} : { [measured.name]: mean },
      tone: members.find(({ tone }) => tone === 'good')?.tone ?? first.tone,
    };
    return [{ row, members }];
  });
}

/** The same, the best first; those that diverged come last. */
export function rankedRepetitions(...of: Parameters<typeof repetitionsOf>): Repetitions[] {
  const groups = repetitionsOf(...of);
  const byId = new Map(groups.map((group) => [group.row.id, group]));
  const rows = groups.map(({ row }) => row);
  return bestFirst(rows, of[1]).flatMap(({ id }) => byId.get(id) ?? []);
}

/** The lowest and the highest of what several measured. */
export function spreadOf(members: readonly BoardRow[], measured: Measured): string {
  const values = members.flatMap((row) => measuredBy(row, measured) ?? []);
  return values.length < 2
    ? ''
    : `${shortNumber(Math.min(...values))} to ${shortNumber(Math.max(...values))}`;
}

/** More values of a parameter than this are in ranges, such as those that a search has drawn. */
const [maxValues, maxRanges] = [12, 6];

/** The different values, in order; many of them in ranges with the same number of values each. */
export function valueGroups(values: readonly ParameterValue[]): ParameterValue[][] {
  const all = [...new Set(values)].sort(compareValues);
  const count = all.length > maxValues ? maxRanges : all.length;
  const from = (group: number): number => Math.round((group * all.length) / count);
  return Array.from({ length: count }, (_, group) => all.slice(from(group), from(group + 1)));
}
