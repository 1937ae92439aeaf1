import { kindOfExit } from '../codes/answers.ts';
import type { Cause } from '../codes/causes.ts';
import type { Termination } from '../eventlog/details.ts';
import { diagnose } from './diagnose.ts';
import { safeLine } from './quote-event.ts';

const known = new Map<string, Cause>();
const mostKnown = 20_000;

/**
 * What a hold or an eviction comes from, in a word: the cause that `diagnose` finds. A million holds have few reasons
 * among them, so each is judged once.
 */
export function causeOf(code: number | undefined, subcode: number | undefined, reason = ''): Cause {
  const key = `${code ?? ''} ${subcode ?? ''} ${reason}`;
  const found = known.get(key);
  if (found !== undefined) return found;
  const { cause } = diagnose({ code, subcode, reason, resources: [] });
  if (known.size >= mostKnown) known.clear();
  known.set(key, cause);
  return cause;
}

/**
 * What an end by itself comes from: `none` where it was a good one. In Updraft's own runs the exit codes of its agent say
 * what failed; in others they mean nothing in particular.
 */
export function exitCause(termination: Termination | undefined, ours: boolean): Cause {
  if (termination?.normal !== true) return 'signal';
  if (termination.returnValue === 0) return 'none';
  return kindOfExit(termination.returnValue, ours) ?? 'exit-code';
}

/** Who or what removed a job, by HTCondor's words for it, and that in a sentence. */
export function removalCause(reason: string): [Cause, string] {
  const words = reason.trim();
  const said = safeLine(words);
  const user = /\(by user ([^)]+)\)/.exec(words)?.[1];
  if (user !== undefined) {
    const how = /^via condor_rm/.test(words)
      ? ' with condor_rm.'
      : `, with these words: ${safeLine(words.replace(/\s*\(by user [^)]+\)$/, ''))}`;
    return ['user', `${safeLine(user)} removed it${how}`];
  }
  if (/OtherJobRemoveRequirements/.test(words))
    return [
      'user',
      'It belonged to another job, such as a workflow (DAG), and went with it when that one was removed.',
    ];
  if (/wall ?time|duration|runtime/i.test(words) && /SYSTEM_PERIODIC_REMOVE|exceeded/i.test(words))
    return ['time-limit', `The access point removed it for its running time: ${said}`];
  if (/SYSTEM_PERIODIC_REMOVE/i.test(words))
    return ['pool-policy', `A rule of the access point removed it: ${said}`];
  if (/PeriodicRemove|expression/i.test(words))
    return ['job-policy', `A rule of the job itself removed it: ${said}`];
  if (/^via condor_rm/.test(words)) return ['user', 'Somebody removed it with condor_rm.'];
  return [
    'unknown',
    words === ''
      ? 'It was removed; the log does not say by whom.'
      : `It was removed with these words: ${said}`,
  ];
}

/** Who removes a job that is on hold gives up on what held it: then that is why it has no good end. */
export const causeOfRemoved = (removal: Cause, hold: Cause | undefined): Cause =>
  hold === undefined || hold === 'user' || hold === 'staging' ? removal : hold;
