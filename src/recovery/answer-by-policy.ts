import { answerToHold, type Answer } from '../codes/answers.ts';
import { growthSteps, waitAfter, type Policy } from './policy.ts';

/**
 * What a policy answers to a hold when so many attempts have failed, this one included. More of what ran out can only
 * be asked for where the policy allows more, and where the scheduler has not asked for all of it already.
 */
export function answerByPolicy(policy: Policy, code: number, subcode: number, failures: number): Answer {
  const answer = answerToHold(code, subcode, failures);
  if (answer !== 'more-memory' && answer !== 'more-disk') return answer;
  const isMemory = answer === 'more-memory';
  const growth = isMemory ? policy.memory : policy.disk;
  return (isMemory && policy.growsItself) || growthSteps(growth).length === 0 ? 'never' : answer;
}

/**
 * Whether a job held for this, when so many attempts have failed and so many seconds after it was queued, will be
 * released by the rules of its run.
 */
export function willRelease(
  policy: Policy,
  code: number,
  subcode: number,
  failures: number,
  heldAfter = 0,
): boolean {
  const answer = answerByPolicy(policy, code, subcode, failures);
  const { attempts, pace, giveUpSeconds = Infinity } = policy;
  const wait = answer !== 'later' && failures <= pace.atOnce ? 0 : waitAfter(failures, pace);
  return answer !== 'never' && failures < attempts && heldAfter + wait < giveUpSeconds;
}
