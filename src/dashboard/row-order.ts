import { compareValues } from '../base/text-table.ts';
import type { BoardMetric, BoardRow, ParameterValue } from './page-data.ts';

/** What the table of jobs is sorted by: a column of it, a parameter, or the last or best values of a metric. */
export interface RowOrder {
  of: 'column' | 'parameter' | 'metric' | 'best';
  name: string;
  descending: boolean;
}

/** What is shown of a metric: what jobs measured last, or at best. */
export type Measured = BoardMetric & { of: 'metric' | 'best' };

/** Metrics start with the best, attempts with the most, all else at the beginning. */
export const firstOrder = (
  { of, name }: Pick<RowOrder, 'of' | 'name'>,
  metrics: readonly BoardMetric[] = [],
): RowOrder => ({
  of,
  name,
  descending:
    of === 'metric' || of === 'best'
      ? metrics.find((metric) => metric.name === name)?.isLowerBetter !== true
      : of === 'column' && name === 'attempts',
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
export const bestFirst = (rows: readonly BoardRow[], measured: Measured): BoardRow[] =>
  sortRows(
    rows.filter((row) => measuredBy(row, measured) !== undefined),
    firstOrder(measured, [measured]),
  );

export const measuredBy = (
  { metrics, best }: BoardRow,
  { of, name }: Pick<Measured, 'of' | 'name'>,
): number | undefined => (of === 'best' ? best?.[name] : undefined) ?? metrics[name];

function valueOf(row: BoardRow, { of, name }: RowOrder): ParameterValue | undefined {
  if (of === 'metric' || of === 'best') return measuredBy(row, { of, name });
  if (of === 'parameter') return row.parameters[name];
  if (name === 'attempts') return row.bars.length;
  if (name === 'state' || name === 'where' || name === 'figures' || name === 'note') return row[name];
  return row.id;
}
