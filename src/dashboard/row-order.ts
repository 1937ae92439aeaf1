import { compareValues } from '../base/text-table.ts';
import { isLowerBetter } from '../base/metric-direction.ts';
import type { BoardRow, ParameterValue } from './page-data.ts';

/** What the table of jobs is sorted by: a column of it, a parameter or a metric. */
export interface RowOrder {
  of: 'column' | 'parameter' | 'metric';
  name: string;
  descending: boolean;
}

/** Metrics start with the best, attempts with the most, all else at the beginning. */
export const firstOrder = ({ of, name }: Pick<RowOrder, 'of' | 'name'>): RowOrder => ({
  of,
  name,
  descending: of === 'metric' ? !isLowerBetter(name) : of === 'column' && name === 'attempts',
});

/** Those without a value come last, in either direction; equal ones keep their order. Pure. */
export function sortRows(rows: readonly BoardRow[], order: RowOrder): BoardRow[] {
  const sign = order.descending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, value: valueOf(row, order) }));
  const known = keyed.filter(({ value }) => value !== undefined && value !== '');
  known.sort((a, b) => sign * compareValues(a.value, b.value));
  const lacking = keyed.filter(({ value }) => value === undefined || value === '');
  return [...known, ...lacking].map(({ row }) => row);
}

/** The jobs that have measured it. */
export const bestFirst = (rows: readonly BoardRow[], metric: string): BoardRow[] =>
  sortRows(
    rows.filter(({ metrics }) => metrics[metric] !== undefined),
    firstOrder({ of: 'metric', name: metric }),
  );

function valueOf(row: BoardRow, { of, name }: RowOrder): ParameterValue | undefined {
  if (of === 'metric') return row.metrics[name];
  if (of === 'parameter') return row.parameters[name];
  if (name === 'attempts') return row.bars.length;
  if (name === 'state' || name === 'where' || name === 'figures' || name === 'note') return row[name];
  return row.id;
}
