import type { Outcome, Phase } from '../journal/entry.ts';
import type { AgentState, AttemptState, RunState } from '../journal/state.ts';

/**
 * Where a second of an attempt can go. `queued` is the wait before the attempt; the phases are the agent's own
 * account, and what the pool moved before and after it; `stalled` is fetching that stood still until a server was
 * given up; `overhead` is starting the agent and noticing its end; `unknown` is time for which nobody spoke.
 */
export const columns = [
  'queued',
  'preparing',
  'fetching',
  'stalled',
  'unpacking',
  'training',
  'saving',
  'returning',
  'cleaning',
  'overhead',
  'unknown',
] as const satisfies (Phase | 'stalled' | 'overhead' | 'unknown')[];
export type Column = (typeof columns)[number];
export type Millis = Record<Column, number>;

/** One attempt in time. Whole milliseconds, so that the columns add up to `total` exactly. */
export interface LedgerRow {
  job: string;
  attempt: number;
  /** `running`: not over yet, accounted for up to the last word heard. */
  outcome: Outcome | 'running';
  host: string;
  site: string;
  millis: Millis;
  total: number;
}

export interface Ledger {
  rows: LedgerRow[];
  sum: Millis;
}

/** Where the time of a run went. Pure; every millisecond of an attempt is in exactly one column. */
export function ledger(state: RunState): Ledger {
  const rows = state.jobs.flatMap((job) => job.attempts.map(ledgerRow));
  const sum = noTime();
  for (const row of rows) for (const column of columns) sum[column] += row.millis[column];
  return { rows, sum };
}

function ledgerRow(attempt: AttemptState): LedgerRow {
  const { agent } = attempt;
  const millis = { ...noTime(), ...agent?.millis };
  millis.queued = between(attempt.waitingSince, attempt.startedAt) + (agent?.millis.queued ?? 0);
  // The two machines' clocks are never compared: only how long each says it took.
  const { fetching, training, returning } = attempt.pool?.millis ?? nothingMoved;
  millis.stalled = stalledMillis(agent);
  millis.fetching += fetching - millis.stalled;
  millis.training += training;
  millis.returning += returning;
  const spoken = fetching + training + returning + (agent === undefined ? 0 : sumOf(agent.millis));
  const silence = Math.max(0, between(attempt.startedAt, attempt.endedAt) - spoken);
  millis[agent?.outcome === undefined ? 'unknown' : 'overhead'] += silence;
  return {
    job: attempt.job,
    attempt: attempt.attempt,
    outcome: attempt.outcome ?? 'running',
    host: agent?.host ?? attempt.pool?.host ?? '',
    site: agent?.site ?? attempt.pool?.site ?? '',
    millis,
    total: totalOf(millis),
  };
}

const nothingMoved = { fetching: 0, training: 0, returning: 0 };

/** Fetching that stood still until a server was given up. */
export const stalledMillis = (agent: AgentState | undefined): number =>
  Math.min(agent?.stall?.millis ?? 0, agent?.millis.fetching ?? 0);

const noTime = (): Millis => Object.fromEntries(columns.map((column) => [column, 0])) as Millis;

const sumOf = (millis: Record<Phase | 'unknown', number>): number =>
  Object.values(millis).reduce((all, part) => all + part, 0);

const totalOf = (millis: Millis): number => columns.reduce((all, column) => all + millis[column], 0);

function between(from: string | undefined, to: string | undefined): number {
  if (from === undefined || to === undefined) return 0;
  return Math.max(0, Date.parse(to) - Date.parse(from));
}
