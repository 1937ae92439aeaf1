import { differingParameters, showValue, withoutSeeds } from '@updraft/account/parameters';
import { shortNumber } from '@updraft/view/charts';
import { html } from '@updraft/view/dom';
import { shortNames } from '@updraft/view/tables';
import type { BoardRow, ParameterValue } from '../page-data.ts';
import { type Measured, measuredBy } from '../row-order.ts';
import { spreadOf, valueGroups } from '../repetitions.ts';

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

/** A table of what the jobs of each combination of values measured on average: the better, the darker. */
export function parameterTable(
  rows: readonly BoardRow[],
  measured: Measured,
  [down, across]: readonly Parameter[],
): HTMLElement {
  const valuesOf = (of: Parameter | undefined) =>
    valueGroups(rows.map(({ parameters }) => parameters[of?.name ?? ''] ?? ''));
  const textOf = (of: Parameter | undefined, values: readonly ParameterValue[]) =>
    of === undefined
      ? measured.name
      : `${of.short}=${[...new Set([values[0], values.at(-1)])].map((value = '') => showValue(value)).join(' to ')}`;
  const isIn = ({ parameters }: BoardRow, of: Parameter | undefined, values: readonly ParameterValue[]) =>
    values.includes(parameters[of?.name ?? ''] ?? '');
  const columns = valuesOf(across);
  const cells: { cell: HTMLElement; mean: number }[] = [];
  const cellOf = (jobs: readonly BoardRow[]) => {
    const values = jobs.flatMap((row) => measuredBy(row, measured) ?? []);
    if (values.length === 0) return html('td');
    const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
    const cell = html('td', {}, shortNumber(mean), html('small', {}, spreadOf(jobs, measured)));
    cells.push({ cell, mean });
    return cell;
  };
  const body = valuesOf(down).map((value) => {
    const jobs = rows.filter((row) => isIn(row, down, value));
    const row = columns.map((other) => cellOf(jobs.filter((job) => isIn(job, across, other))));
    return html('tr', {}, html('th', { scope: 'row' }, textOf(down, value)), ...row);
  });
  const means = cells.map(({ mean }) => mean);
  const [low, high] = [Math.min(...means), Math.max(...means)];
  for (const { cell, mean } of cells) {
    const share = (mean - low) / (high - low || 1);
    cell.style.setProperty('--good', String(measured.isLowerBetter ? 1 - share : share));
  }
  const heads = columns.map((value) => html('th', { scope: 'col' }, textOf(across, value)));
  return html('table', { class: 'map' }, html('tr', {}, html('td'), ...heads), ...body);
}
