import { compareValues } from '@updraft/base';
import type { BoardMetric, BoardRow, ParameterValue } from './page-data.ts';

/** What is shown of a metric: what jobs measured last, or at best. */
export type Measured = BoardMetric & { of: 'last' | 'best' };

/** `val_accuracy`, or `best val_accuracy`. */
export const titleOf = ({ of, name }: Measured): string => (of === 'best' ? `best ${name}` : name);

/** `loss, lower is better` */
export const directionOf = (measured: Measured): string =>
  `${titleOf(measured)}, ${measured.isLowerBetter ? 'lower' : 'higher'} is better`;

export const measuredBy = ({ metrics, best }: BoardRow, { of, name }: Measured): number | undefined =>
  (of === 'best' ? best?.[name] : undefined) ?? metrics[name];

/** `NaN` or `Infinity`, where that is all there is to say. */
export const divergedBy = (row: BoardRow, measured: Measured): string | undefined =>
  measuredBy(row, measured) === undefined ? row.diverged?.[measured.name] : undefined;

/** `12 ended in NaN, 1 ended in Infinity`, or nothing. */
export function divergedText(rows: readonly BoardRow[], measured: Measured): string {
  const ends = Map.groupBy(rows, (row) => divergedBy(row, measured));
  ends.delete(undefined);
  return [...ends].map(([end, { length }]) => `${length} ended in ${end}`).join(', ');
}

/** What the table of jobs is sorted by: a column of it, a parameter, or the metric that it shows. */
export interface RowOrder {
  of: 'column' | 'parameter' | 'metric';
  name: string;
  descending: boolean;
}

/** Metrics start with the best, attempts with the most, all else at the beginning. */
export const firstOrder = (of: RowOrder['of'], name: string, measured?: Measured): RowOrder => ({
  of,
  name,
  descending: of === 'metric' ? measured?.isLowerBetter !== true : of === 'column' && name === 'attempts',
});

/** Those without a value come last, in either direction; equal ones keep their order. Pure. */
export function sortRows(rows: readonly BoardRow[], order: RowOrder, measured?: Measured): BoardRow[] {
  const sign = order.descending ? -1 : 1;
  const keyed = rows.map((row) => ({ row, value: valueOf(row, order, measured) }));
  const known = keyed.filter(({ value }) => value !== undefined && value !== '');
  known.sort((a, b) => sign * compareValues(a.value, b.value));
  const lacking = keyed.filter(({ value }) => value === undefined || value === '');
  return [...known, ...lacking].map(({ row }) => row);
}

/** The jobs that have measured it; those that diverged come last. */
export const bestFirst = (rows: readonly BoardRow[], measured: Measured): BoardRow[] =>
  sortRows(
    rows.filter((row) => (measuredBy(row, measured) ?? divergedBy(row, measured)) !== undefined),
    firstOrder('metric', '', measured),
    measured,
  );

function valueOf(
  row: BoardRow,
  { of, name }: RowOrder,
  measured: Measured | undefined,
): ParameterValue | undefined {
  if (of === 'metric') return measured && measuredBy(row, measured);
  if (of === 'parameter') return row.parameters[name];
  if (name === 'attempts') return row.bars.length;
  if (name === 'state' || name === 'where' || name === 'figures' || name === 'note') return row[name];
  return row.id;
}
