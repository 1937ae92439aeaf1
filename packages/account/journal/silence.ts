import { parseTime } from '@updraft/base';
import type { AgentState } from './agent-state.ts';
import type { AttemptState } from './state.ts';

/** A training reports at least every ten seconds where its journal is a file. */
const trainingMillis = 60_000;
/** Other phases report less often, and a scheduler's log passes on a report a minute. */
const otherMillis = 120_000;

/** Milliseconds since the last report of a running attempt, if that is so long that its state is unknown. */
export function silence(attempt: AttemptState, now: number): number | undefined {
  const { endedAt, heardAt, phase, pool } = attempt;
  if (endedAt !== undefined || heardAt === undefined) return undefined;
  const quiet = now - heardAt;
  return quiet > (phase === 'training' && pool === undefined ? trainingMillis : otherMillis)
    ? quiet
    : undefined;
}

/** A GPU that is idle for longer does not only wait for a validation or a checkpoint. */
const minIdleSeconds = 600;

/** How many seconds its GPUs have been idle, if that is long, although it trains. */
export function idleSeconds(agent: AgentState | undefined): number | undefined {
  const { from, to } = agent?.gpuUse?.idle ?? {};
  if (from === undefined || to === undefined) return undefined;
  const seconds = (parseTime(to) - parseTime(from)) / 1000;
  return seconds < minIdleSeconds ? undefined : seconds;
}
