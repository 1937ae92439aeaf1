import type { AttemptState } from '../journal/state.ts';
import type { History } from './decide.ts';

/** What became of a job, from its attempts as the journals tell them. */
export const historyOf = (attempts: readonly AttemptState[]): History => {
  const queuedAt = Date.parse(attempts[0]?.waitingSince ?? '');
  return {
    ...(Number.isNaN(queuedAt) ? {} : { queuedAt }),
    attempts: attempts.map(({ outcome, fault, endedAt }) => ({
      ...{ outcome: outcome ?? 'lost', fault },
      endedAt: Date.parse(endedAt ?? ''),
    })),
  };
};
