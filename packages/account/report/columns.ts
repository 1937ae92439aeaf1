import type { ChartPart } from '@updraft/view/charts';

/**
 * Every second between a job's first and last event is in exactly one column. What the log does not show is `unknown`;
 * what is not decided yet is `underWay`.
 */
export const columnLabels = {
  usefulCompute: 'useful compute',
  usefulTransfer: 'useful transfer',
  unpacking: 'unpacking',
  waitingForData: 'waiting for data',
  saving: 'saving checkpoints',
  returning: 'returning results',
  retriedTransfer: 'stalled or retried transfer',
  lostToEviction: 'lost to eviction',
  lostToTimeLimit: 'lost to the time limit',
  lostToWrongOutput: 'lost to a wrong result',
  lostToFailure: 'lost to failure',
  lostToRemoval: 'lost with removed jobs',
  suspended: 'suspended',
  overhead: 'overhead on the slot',
  underWay: 'not decided yet',
  unknown: 'unknown',
  queued: 'queued',
  idle: 'idle between attempts',
  held: 'held',
};
export type Column = keyof typeof columnLabels;
export type Amounts = Record<Column, number>;
export const columns = Object.keys(columnLabels) as Column[];

const offSlot: ReadonlySet<Column> = new Set(['queued', 'idle', 'held']);
const useful: ReadonlySet<Column> = new Set([
  'usefulCompute',
  'usefulTransfer',
  'unpacking',
  'waitingForData',
  'saving',
  'returning',
]);
const undecided: ReadonlySet<Column> = new Set(['underWay', 'unknown', 'overhead']);

export const slotColumns = columns.filter((column) => !offSlot.has(column));
/** Slot time that led to something. */
export const usefulColumns = columns.filter((column) => useful.has(column));
/** Slot time that led to nothing. */
export const lossColumns = slotColumns.filter((column) => !useful.has(column) && !undecided.has(column));

const zero = Object.fromEntries(columns.map((column) => [column, 0])) as Amounts;
export const noAmounts = (): Amounts => ({ ...zero });

/**
 * In reverse order, so that rows have a shape of their own: engines box all figures of a shape once an object of it has
 * one as large as a sum.
 */
const zeroRow = Object.fromEntries(columns.toReversed().map((column) => [column, 0])) as Amounts;
/** For one of very many attempts or jobs. */
export const noRowAmounts = (): Amounts => ({ ...zeroRow });

/** Column by column: names that vary cost engines ten times as much, and a log may have a million attempts. */
export function addAmounts(to: Amounts, more: Amounts): void {
  to.usefulCompute += more.usefulCompute;
  to.usefulTransfer += more.usefulTransfer;
  to.unpacking += more.unpacking;
  to.waitingForData += more.waitingForData;
  to.saving += more.saving;
  to.returning += more.returning;
  to.retriedTransfer += more.retriedTransfer;
  to.lostToEviction += more.lostToEviction;
  to.lostToTimeLimit += more.lostToTimeLimit;
  to.lostToWrongOutput += more.lostToWrongOutput;
  to.lostToFailure += more.lostToFailure;
  to.lostToRemoval += more.lostToRemoval;
  to.suspended += more.suspended;
  to.overhead += more.overhead;
  to.underWay += more.underWay;
  to.unknown += more.unknown;
  to.queued += more.queued;
  to.idle += more.idle;
  to.held += more.held;
}

/** Slot time that led to nothing, as in `lossColumns`. */
export const lossIn = (amounts: Amounts): number =>
  amounts.retriedTransfer +
  amounts.lostToEviction +
  amounts.lostToTimeLimit +
  amounts.lostToWrongOutput +
  amounts.lostToFailure +
  amounts.lostToRemoval +
  amounts.suspended;

export function sumOver(amounts: Amounts, which: readonly Column[]): number {
  let sum = 0;
  for (const column of which) sum += amounts[column];
  return sum;
}

export const inSeconds = (millis: Amounts): Amounts =>
  Object.fromEntries(columns.map((column) => [column, millis[column] / 1000])) as Amounts;

/** Columns that are often adjacent have colours that differ for the common kinds of colour blindness. */
const colours: Record<Column, string> = {
  usefulCompute: '#009e73',
  usefulTransfer: '#56b4e9',
  unpacking: '#a6cee3',
  waitingForData: '#f0e442',
  saving: '#8da0cb',
  returning: '#0072b2',
  retriedTransfer: '#e69f00',
  lostToEviction: '#d55e00',
  lostToTimeLimit: '#cc79a7',
  lostToWrongOutput: '#882255',
  lostToFailure: '#aa4499',
  lostToRemoval: '#997700',
  suspended: '#bbaa55',
  overhead: '#888888',
  underWay: '#44bb99',
  unknown: '#aaaaaa',
  queued: '#dddddd',
  idle: '#c8c8c8',
  held: '#666666',
};

export const columnParts = Object.fromEntries(
  columns.map((column) => [column, { label: columnLabels[column], colour: colours[column] }]),
) as Record<Column, ChartPart>;
