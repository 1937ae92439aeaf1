/**
 * Where a second between a job's first and last event can go. Every second is in exactly one column; what a log
 * cannot tell is `unknown`, and what is not decided yet is `underWay`.
 */
export const columns = [
  'usefulCompute',
  'usefulTransfer',
  'unpacking',
  'saving',
  'returning',
  'retriedTransfer',
  'lostToEviction',
  'lostToTimeLimit',
  'lostToWrongOutput',
  'lostToFailure',
  'lostToRemoval',
  'suspended',
  'overhead',
  'underWay',
  'unknown',
  'queued',
  'idle',
  'held',
] as const;
export type Column = (typeof columns)[number];
export type Amounts = Record<Column, number>;

/** On no slot. */
const offSlot: ReadonlySet<Column> = new Set(['queued', 'idle', 'held']);
const useful: ReadonlySet<Column> = new Set([
  'usefulCompute',
  'usefulTransfer',
  'unpacking',
  'saving',
  'returning',
]);
const undecided: ReadonlySet<Column> = new Set(['underWay', 'unknown', 'overhead']);

export const slotColumns = columns.filter((column) => !offSlot.has(column));
/** Slot time that led to something. */
export const usefulColumns = columns.filter((column) => useful.has(column));
/** Slot time that led to nothing. */
export const lossColumns = slotColumns.filter((column) => !useful.has(column) && !undecided.has(column));

export const columnWords: Record<Column, string> = {
  usefulCompute: 'useful compute',
  usefulTransfer: 'useful transfer',
  unpacking: 'unpacking',
  saving: 'saving checkpoints',
  returning: 'returning results',
  retriedTransfer: 'stalled or retried transfer',
  lostToEviction: 'compute lost to eviction',
  lostToTimeLimit: 'compute lost to the time limit',
  lostToWrongOutput: 'compute with a wrong result',
  lostToFailure: 'compute lost to failure',
  lostToRemoval: 'compute of removed jobs',
  suspended: 'suspended',
  overhead: 'overhead on the slot',
  underWay: 'under way',
  unknown: 'unknown',
  queued: 'queued',
  idle: 'idle between attempts',
  held: 'held',
};

export const noAmounts = (): Amounts => ({
  usefulCompute: 0,
  usefulTransfer: 0,
  unpacking: 0,
  saving: 0,
  returning: 0,
  retriedTransfer: 0,
  lostToEviction: 0,
  lostToTimeLimit: 0,
  lostToWrongOutput: 0,
  lostToFailure: 0,
  lostToRemoval: 0,
  suspended: 0,
  overhead: 0,
  underWay: 0,
  unknown: 0,
  queued: 0,
  idle: 0,
  held: 0,
});

export function addAmounts(to: Amounts, more: Amounts): void {
  for (const column of columns) to[column] += more[column];
}

export const sumOver = (amounts: Amounts, which: readonly Column[]): number =>
  which.reduce((sum, column) => sum + amounts[column], 0);
