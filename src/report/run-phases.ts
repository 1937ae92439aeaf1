import type { RunState } from '../journal/state.ts';
import { columns, ledger, type Column, type LedgerRow, type Millis } from './ledger.ts';

/** One attempt by its phases. */
export interface AttemptPhases {
  job: string;
  attempt: number;
  outcome: LedgerRow['outcome'];
  host: string;
  site: string;
  seconds: Record<Column, number>;
  totalSeconds: number;
}

/** What the agents of a run did, as they tell it: only a run knows that. */
export interface RunPhases {
  phaseSeconds: Record<Column, number>;
  attemptRows: AttemptPhases[];
}

export function runPhases(state: RunState): RunPhases {
  const { rows, sum } = ledger(state);
  return {
    phaseSeconds: inSeconds(sum),
    attemptRows: rows.map(({ millis, total, ...row }) => ({
      ...row,
      seconds: inSeconds(millis),
      totalSeconds: total / 1000,
    })),
  };
}

function inSeconds(millis: Millis): Record<Column, number> {
  return Object.fromEntries(columns.map((column) => [column, millis[column] / 1000])) as Record<
    Column,
    number
  >;
}
