import type { Cause } from './causes.ts';
import { safeLine } from './quote-event.ts';

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
