import { compareValues } from '@updraft/base';
import { differingParameters, showValue, withoutSeeds } from '@updraft/account/parameters';
import { heatMap, shortNumber } from '@updraft/view/charts';
import { shortNames } from '@updraft/view/tables';
import type { BoardRow } from '../page-data.ts';
import { type Measured, measuredBy } from '../row-order.ts';
import { spreadOf } from '../repetitions.ts';

interface Parameter {
  name: string;
  /** In a few characters. */
  short: string;
}

/** What can be compared: two parameters at a time, or the only one. */
export function parameterChoices(rows: readonly BoardRow[]): Parameter[][] {
  const names = differingParameters(rows.map(({ parameters }) => withoutSeeds(parameters)));
  const short = shortNames(names);
  const all = names.map((name, at) => ({ name, short: short[at] ?? name }));
  const pairs = all.flatMap((one, at) => all.slice(at + 1).map((other) => [one, other]));
  return pairs.length > 0 ? pairs : all.map((one) => [one]);
}

/** What the jobs of each combination of values measured on average, the better the darker. */
export function parameterMap(
  rows: readonly BoardRow[],
  measured: Measured,
  [down, across]: readonly Parameter[],
  width: number,
): string {
  const valueOf = ({ parameters }: BoardRow, name = '') => parameters[name] ?? '';
  const textOf = (row: BoardRow, of: Parameter | undefined) =>
    of === undefined ? measured.name : `${of.short}=${showValue(valueOf(row, of.name))}`;
  const by = (of: Parameter | undefined, a: BoardRow, b: BoardRow) =>
    compareValues(valueOf(a, of?.name), valueOf(b, of?.name));
  const known = rows
    .filter((row) => measuredBy(row, measured) !== undefined)
    .toSorted((a, b) => by(down, a, b) || by(across, a, b));
  const cells = [...Map.groupBy(known, (row) => `${textOf(row, down)}\n${textOf(row, across)}`)].map(
    ([key, jobs]) => {
      const [row = '', column = ''] = key.split('\n');
      const mean = jobs.reduce((sum, job) => sum + (measuredBy(job, measured) ?? 0), 0) / jobs.length;
      return { row, column, mean, text: shortNumber(mean), small: spreadOf(jobs, measured) };
    },
  );
  const means = cells.map(({ mean }) => mean);
  const worst = measured.isLowerBetter ? Math.max(...means) : Math.min(...means);
  const drawn = cells.map((cell) => ({ ...cell, value: Math.abs(cell.mean - worst) }));
  return heatMap(drawn, { width, left: Math.min(190, width / 3) });
}
