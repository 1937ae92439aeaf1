import { kindOfExit, policyHoldCode } from '../codes/remedies.ts';
import { remedyForHold, type ReportedHold } from '../codes/codes.ts';
import { allowedRemedy, type EndedAttempt } from './decide.ts';
import { waitAfter, type Policy } from './policy.ts';

/** What a hold says about the attempt that it ended; our own holds carry the agent's exit code. */
export function endFromHold(hold: ReportedHold): Pick<EndedAttempt, 'fault' | 'remedy'> {
  const kind = hold.code === policyHoldCode ? kindOfExit(hold.subcode) : undefined;
  return kind === undefined
    ? { remedy: remedyForHold(hold, 1) }
    : { fault: { kind, message: hold.reason.trim() } };
}

/** A job's failures: how many, how many for lack of memory, and how long after it was queued, in seconds. */
export interface FailureCounts {
  failures: number;
  ranOut: number;
  heldAfter?: number;
}

/** Whether the policy of its run will release a job with this hold. */
export function willRelease(
  policy: Policy,
  hold: ReportedHold,
  { failures, ranOut, heldAfter = 0 }: FailureCounts,
): boolean {
  const answer = allowedRemedy(policy, remedyForHold(hold, failures), ranOut);
  const { attempts, backoff, giveUpSeconds = Infinity } = policy;
  const wait = answer !== 'later' && failures <= backoff.immediateRetries ? 0 : waitAfter(failures, backoff);
  return answer !== 'never' && failures < attempts && heldAfter + wait < giveUpSeconds;
}
