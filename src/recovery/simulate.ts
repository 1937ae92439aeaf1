import { decide, type Decision, type EndedAttempt, type History } from './decide.ts';
import type { Policy } from './policy.ts';

/** What will happen to a job by the rules of its run. */
export interface Outlook {
  /** Attempts that failed so far, and how many may. */
  failures: number;
  attempts: number;
  next: Decision;
  /** If each further attempt fails like the last one: the seconds of waiting before each of them. */
  waits: number[];
}

/** Tells what happens next, and what happens if the trouble goes on. Pure. */
export function simulate(policy: Policy, history: History, now: number): Outlook {
  const last = history.attempts.at(-1);
  const failures = history.attempts.filter(({ outcome }) => isFailure(outcome)).length;
  const next = decide(history, policy, now);
  return {
    failures,
    attempts: policy.attempts,
    next,
    waits: last === undefined ? [] : waitsOf(policy, history, last),
  };
}

const isFailure = (outcome: EndedAttempt['outcome']): boolean =>
  outcome === 'failed' || outcome === 'wrong-output';

function waitsOf(policy: Policy, history: History, last: EndedAttempt): number[] {
  const waits: number[] = [];
  const attempts = [...history.attempts];
  let at = last.endedAt;
  // Every policy ends: by its number of attempts, or of those that were taken away.
  for (;;) {
    const decision = decide({ ...history, attempts }, policy, at);
    if (decision.do === 'end') return waits;
    const until = decision.do === 'wait' ? decision.until : at;
    waits.push((until - at) / 1000);
    at = until;
    // One that moved on may go on for ever: what counts is that the next fails.
    attempts.push({ ...last, movedOn: false, endedAt: at });
  }
}
