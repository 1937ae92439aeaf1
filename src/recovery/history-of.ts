import type { AgentState, AttemptState } from '../journal/state.ts';
import type { History } from './decide.ts';

/** Whether an attempt whose time was up saved something, and went past what it began with: only time was lacking. */
export const hasMovedOn = (agent: AgentState | undefined): boolean =>
  agent?.checkpoint !== undefined && (agent.resumed === undefined || agent.resumed.movedOn === true);

/** What became of a job, from its attempts as the journals tell them. */
export const historyOf = (attempts: readonly AttemptState[]): History => {
  const queuedAt = Date.parse(attempts[0]?.waitingSince ?? '');
  return {
    ...(Number.isNaN(queuedAt) ? {} : { queuedAt }),
    attempts: attempts.map((attempt) => ({
      outcome: attempt.outcome ?? 'lost',
      fault: attempt.fault,
      movedOn: attempt.movedOn,
      endedAt: Date.parse(attempt.endedAt ?? ''),
    })),
  };
};
