import { type Remedy, remedyForKind } from '../codes/remedies.ts';
import type { Ending } from '../history/history.ts';
import { type FaultRecord, type Outcome, outcomes } from '../journal/entry.ts';
import type { AttemptState } from '../journal/state.ts';
import { growthSteps, type Policy, waitAfter } from './policy.ts';
import type { AgentState } from '../journal/agent-state.ts';

/** How one attempt at a job ended, and when (milliseconds since the epoch). */
export interface EndedAttempt {
  outcome: Outcome;
  fault?: FaultRecord | undefined;
  /** What helps, if a hold says so and no fault of ours does. */
  remedy?: Remedy | undefined;
  endedAt: number;
  /** Its time was up, and it left a checkpoint beyond the one it started from. */
  movedOn?: boolean | undefined;
}

/** The attempts of a job so far. */
export interface PastAttempts {
  /** When the job was queued, in milliseconds since the epoch, if known. */
  queuedAt?: number | undefined;
  attempts: readonly EndedAttempt[];
}

/** What to do about a job without a running attempt, and the reason as a sentence. */
export type Decision =
  | { do: 'start'; why: string }
  | { do: 'wait'; until: number; why: string }
  | { do: 'end'; outcome: Outcome; why: string };

/** A job that is always evicted must end some day too. */
const maxEvictions = 10;

/**
 * The next step of a job from its history alone: another attempt if that can help, at once or after a wait that
 * doubles each time, otherwise an end. Evicted and lost attempts say nothing against the job and do not count, nor do
 * those that made progress until their time was up. Pure.
 */
export function decide({ queuedAt, attempts }: PastAttempts, policy: Policy, now: number): Decision {
  const last = attempts.at(-1);
  if (last === undefined) return { do: 'start', why: 'first attempt' };
  const end = (why: string): Decision => ({ do: 'end', outcome: last.outcome, why });
  const counted = attempts.filter(({ movedOn }) => movedOn !== true);
  const reason = last.movedOn === true ? undefined : endReason(counted, last, policy);
  if (reason !== undefined) return end(reason);
  const wait = last.movedOn === true ? 0 : waitSeconds(counted, last, policy);
  const until = last.endedAt + wait * 1000;
  const { giveUpSeconds = Infinity } = policy;
  if (queuedAt !== undefined && Math.max(now, until) > queuedAt + giveUpSeconds * 1000)
    return end(`the job is given up ${giveUpSeconds} s after it was queued (\`give_up_after\`)`);
  const why = `attempt ${attempts.length} ${describeEnd(last)}`;
  if (now < until) return { do: 'wait', until, why: `${why}; waiting ${wait} s before the next` };
  if (last.movedOn === true) return { do: 'start', why: `${why}; it made progress and saved a checkpoint` };
  return { do: 'start', why: isEvicted(last) ? `${why}, which does not count against the job` : why };
}

function endReason(
  attempts: readonly EndedAttempt[],
  last: EndedAttempt,
  policy: Policy,
): string | undefined {
  if (last.outcome === 'success') return 'there is a valid result';
  if (last.outcome === 'stopped') return 'it was stopped';
  const evicted = attempts.filter(isEvicted).length;
  const failed = attempts.length - evicted;
  if (isEvicted(last)) return evicted < maxEvictions ? undefined : `${evicted} attempts were evicted or lost`;
  if (remedyFor(last, failed, attempts, policy) === 'never') return 'another attempt would fail the same way';
  const { attempts: limit } = policy;
  return failed < limit ? undefined : `${failed} of ${limit} attempts failed`;
}

function waitSeconds(attempts: readonly EndedAttempt[], last: EndedAttempt, policy: Policy): number {
  const { backoff } = policy;
  const same = attempts.filter((one) => isEvicted(one) === isEvicted(last)).length;
  const isImmediate =
    !isEvicted(last) &&
    remedyFor(last, same, attempts, policy) !== 'later' &&
    same <= backoff.immediateRetries;
  return isImmediate ? 0 : waitAfter(same, backoff);
}

const isEvicted = ({ outcome }: EndedAttempt): boolean => outcome === 'lost' || outcome === 'evicted';

/** A wrong result or an unexplained failure of the training would be the same again. */
function remedyFor(
  { fault, remedy }: EndedAttempt,
  failures: number,
  attempts: readonly EndedAttempt[],
  policy: Policy,
): Remedy {
  const same = attempts.filter((one) => fault !== undefined && one.fault?.kind === fault.kind).length;
  if (same > 1 && fault !== undefined && policy.retriedOnce?.includes(fault.kind) === true) return 'never';
  const meant = remedy ?? (fault === undefined ? 'never' : remedyForKind(fault.kind, failures));
  // A disk may be full of other people's files: another machine helps, even if the request cannot grow.
  return remedy === undefined && meant === 'more-disk'
    ? meant
    : allowedRemedy(policy, meant, outOfMemoryCount(attempts));
}

/** How many attempts ran out of memory. */
export const outOfMemoryCount = (attempts: readonly Pick<EndedAttempt, 'fault' | 'remedy'>[]): number =>
  attempts.filter(({ fault, remedy }) => remedy === 'more-memory' || fault?.kind === 'memory-exceeded')
    .length;

/**
 * The remedy, if the policy allows it: a request can grow only up to its limit. `ranOut` attempts ran out of memory,
 * and the last may have had the maximum.
 */
export function allowedRemedy({ memory, disk }: Policy, answer: Remedy, ranOut: number): Remedy {
  if (answer === 'more-memory') return ranOut > growthSteps(memory).length ? 'never' : answer;
  return answer === 'more-disk' && growthSteps(disk).length === 0 ? 'never' : answer;
}

function describeEnd({ outcome, fault }: EndedAttempt): string {
  if (fault !== undefined) return `ended with ${fault.kind}: ${fault.message}`;
  return outcome === 'lost' ? 'was lost: its agent exited without reporting' : `ended as ${outcome}`;
}

/** Whether an attempt whose time was up saved a checkpoint beyond its start: it only needed more time. */
export const hasProgressed = (agent: AgentState | undefined): boolean =>
  agent?.checkpoint !== undefined && (agent.resumed === undefined || agent.resumed.movedOn === true);

/** What a journal calls so; of one without an end, nothing more is known. */
const outcomeOf = (ending: Ending): Outcome =>
  ending === 'removed' ? 'stopped' : (outcomes.find((one) => one === ending) ?? 'lost');

/** The past attempts of a job, from its journals. */
export const pastAttempts = (attempts: readonly AttemptState[]): PastAttempts => {
  const queuedAt = Date.parse(attempts[0]?.waitingSince ?? '');
  return {
    ...(Number.isNaN(queuedAt) ? {} : { queuedAt }),
    attempts: attempts.map((attempt) => ({
      outcome: outcomeOf(attempt.ending),
      fault: attempt.fault,
      movedOn: attempt.movedOn,
      endedAt: Date.parse(attempt.endedAt ?? ''),
    })),
  };
};

/** What will happen to a job by the policy of its run. */
export interface RetryOutlook {
  /** Attempts that failed so far, and how many may. */
  failures: number;
  attempts: number;
  next: Decision;
  /** Seconds of waiting before each further attempt, if they all fail like the last one. */
  waits: number[];
}

/** What happens next, and what if the trouble continues. Pure. */
export function simulate(policy: Policy, history: PastAttempts, now: number): RetryOutlook {
  const last = history.attempts.at(-1);
  const failures = history.attempts.filter(({ outcome }) => isFailure(outcome)).length;
  const next = decide(history, policy, now);
  return {
    failures,
    attempts: policy.attempts,
    next,
    waits: last === undefined ? [] : futureWaits(policy, history, last),
  };
}

const isFailure = (outcome: EndedAttempt['outcome']): boolean =>
  outcome === 'failed' || outcome === 'wrong-output';

function futureWaits(policy: Policy, history: PastAttempts, last: EndedAttempt): number[] {
  const waits: number[] = [];
  const attempts = [...history.attempts];
  let at = last.endedAt;
  // Every policy ends: by its limit of failed attempts or of evictions.
  for (;;) {
    const decision = decide({ ...history, attempts }, policy, at);
    if (decision.do === 'end') return waits;
    const until = decision.do === 'wait' ? decision.until : at;
    waits.push((until - at) / 1000);
    at = until;
    // One that makes progress could go on for ever: assume that the next fails.
    attempts.push({ ...last, movedOn: false, endedAt: at });
  }
}
