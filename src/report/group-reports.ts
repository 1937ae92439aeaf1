import {
  addAmounts,
  columns,
  lossColumns,
  noAmounts,
  slotColumns,
  sumOver,
  type Amounts,
} from './columns.ts';
import type { AttemptRow, JobRow } from './event-ledger.ts';

/** The attempts that have something in common, such as a machine or a model of GPU. */
export interface GroupReport {
  name: string;
  attempts: number;
  /** Of these, how many ended well. */
  success: number;
  /** Seconds per column, as in `slotSeconds` of all. */
  slotSeconds: Amounts;
  slotTotalSeconds: number;
  lostSeconds: number;
  usefulShare: number | null;
}

/** Attempts by what `nameOf` says of them; those it has no name for are in no group. */
export function groupReports(
  rows: readonly JobRow[],
  nameOf: (attempt: AttemptRow) => string,
): GroupReport[] {
  const attempts = rows.flatMap((row) => row.attempts).filter((attempt) => nameOf(attempt) !== '');
  return [...Map.groupBy(attempts, nameOf)]
    .map(([name, group]) => groupReport(name, group))
    .sort((a, b) => b.lostSeconds - a.lostSeconds || a.name.localeCompare(b.name));
}

function groupReport(name: string, group: readonly AttemptRow[]): GroupReport {
  const sum = noAmounts();
  for (const { millis } of group) addAmounts(sum, millis);
  for (const column of columns) sum[column] /= 1000;
  const slotTotalSeconds = sumOver(sum, slotColumns);
  return {
    name,
    attempts: group.length,
    success: group.filter(({ ending }) => ending === 'success').length,
    slotSeconds: sum,
    slotTotalSeconds,
    lostSeconds: sumOver(sum, lossColumns),
    usefulShare: slotTotalSeconds === 0 ? null : sum.usefulCompute / slotTotalSeconds,
  };
}
