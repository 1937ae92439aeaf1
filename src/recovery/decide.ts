import { kinds } from '../fault/kinds.ts';
import type { FaultRecord, Outcome } from '../journal/entry.ts';

/** How one attempt at a job ended, and when (milliseconds since the epoch). */
export interface EndedAttempt {
  outcome: Outcome;
  fault?: FaultRecord | undefined;
  endedAt: number;
}

/** What to do about a job that has no attempt running, with the reason as a sentence. */
export type Decision =
  | { do: 'start'; why: string }
  | { do: 'wait'; until: number; why: string }
  | { do: 'end'; outcome: Outcome; why: string };

const firstWaitMs = 5_000;
const longestWaitMs = 300_000;
/** A job whose attempts are always taken away must end some day too. */
const mostTaken = 10;

/**
 * The next step of a job from its history alone: another attempt where that can help, after a wait that doubles
 * each time, and an end where it cannot. Attempts that were taken away (lost, evicted) say nothing against the
 * job and do not count against its `limit`.
 */
export function decide(history: readonly EndedAttempt[], limit: number, now: number): Decision {
  const last = history.at(-1);
  if (last === undefined) return { do: 'start', why: 'first attempt' };
  const end = endReason(history, last, limit);
  if (end !== undefined) return { do: 'end', outcome: last.outcome, why: end };
  const wait = Math.min(longestWaitMs, firstWaitMs * 2 ** (history.length - 1));
  const until = last.endedAt + wait;
  const why = `attempt ${history.length} ${told(last)}`;
  if (now < until) return { do: 'wait', until, why: `${why}; waiting ${wait / 1000} s before the next` };
  return { do: 'start', why: isTaken(last) ? `${why}, which does not count against the job` : why };
}

function endReason(history: readonly EndedAttempt[], last: EndedAttempt, limit: number): string | undefined {
  if (last.outcome === 'success') return 'there is a valid result';
  if (last.outcome === 'stopped') return 'it was stopped';
  const taken = history.filter(isTaken).length;
  const failed = history.length - taken;
  if (isTaken(last))
    return taken < mostTaken ? undefined : `${taken} attempts were taken away, the last one ${told(last)}`;
  if (!canHelp(last)) return `another attempt cannot help: attempt ${history.length} ${told(last)}`;
  return failed < limit ? undefined : `${failed} of ${limit} attempts failed; the last one ${told(last)}`;
}

const isTaken = ({ outcome }: EndedAttempt): boolean => outcome === 'lost' || outcome === 'evicted';

/** A wrong result or an unexplained failure of the training would come out the same again. */
function canHelp({ fault }: EndedAttempt): boolean {
  return fault !== undefined && kinds[fault.kind].retry !== 'never';
}

function told({ outcome, fault }: EndedAttempt): string {
  if (fault !== undefined) return `ended with ${fault.kind}: ${fault.message}`;
  return outcome === 'lost' ? 'was lost: its agent went away without a word' : `ended as ${outcome}`;
}
