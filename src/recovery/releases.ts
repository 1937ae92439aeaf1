import { kindOfExit, ownHold } from '../codes/answers.ts';
import { answerToHold, type Hold } from '../codes/codes.ts';
import { allowed, type EndedAttempt } from './decide.ts';
import { waitAfter, type Policy } from './policy.ts';

/** What a hold says of the attempt that it ended; one of our own says what the agent ended with. */
export function endOfHold(hold: Hold): Pick<EndedAttempt, 'fault' | 'answer'> {
  const kind = hold.code === ownHold ? kindOfExit(hold.subcode) : undefined;
  return kind === undefined
    ? { answer: answerToHold(hold, 1) }
    : { fault: { kind, message: hold.reason.trim() } };
}

/** A job by its failures: how many, how many of them for want of memory, and how long after it was queued, in seconds. */
export interface Failures {
  failures: number;
  ranOut: number;
  heldAfter?: number;
}

/** Whether the rules of its run will release a job that is held for this. */
export function willRelease(
  policy: Policy,
  hold: Hold,
  { failures, ranOut, heldAfter = 0 }: Failures,
): boolean {
  const answer = allowed(policy, answerToHold(hold, failures), ranOut);
  const { attempts, pace, giveUpSeconds = Infinity } = policy;
  const wait = answer !== 'later' && failures <= pace.atOnce ? 0 : waitAfter(failures, pace);
  return answer !== 'never' && failures < attempts && heldAfter + wait < giveUpSeconds;
}
