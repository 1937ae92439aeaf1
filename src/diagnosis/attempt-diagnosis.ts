import type { Termination } from '../eventlog/details.ts';
import { exitCause } from './cause-of.ts';
import { byCause, diagnose, type Diagnosis } from './diagnose.ts';
import type { AttemptEnd, StoryAttempt } from './job-story.ts';
import { safeLine } from './quote-event.ts';

/** Why an attempt ended; undefined while it has not. `ours`: it is of a run of Updraft's own. */
export function attemptDiagnosis(attempt: StoryAttempt, ours: boolean): Diagnosis | undefined {
  const diagnosis = endDiagnosis(attempt, ours);
  if (attempt.saves === 0 || diagnosis?.cause !== 'evicted') return diagnosis;
  return { ...diagnosis, because: [...diagnosis.because, 'Its files had been saved before.'], advice: [] };
}

function endDiagnosis({ end, complaint, memoryMb }: StoryAttempt, ours: boolean): Diagnosis | undefined {
  if (end === undefined) return undefined;
  if (end.how === 'silent')
    return byCause('silent-end', [
      'The attempt ended without a word in the log: HTCondor’s process for it on the access point was killed, or the access point was restarted.',
    ]);
  if (end.how === 'exited') return exitDiagnosis(end, memoryMb, ours);
  if (end.reason.trim() !== '' || complaint === undefined) return accountDiagnosis(end, memoryMb);
  // The complaint's own code is the other side's view of the transfer: only its words are taken.
  return accountDiagnosis({ ...end, reason: complaint.text }, memoryMb);
}

type Ended = Extract<AttemptEnd, { how: 'vacated' | 'exception' }>;

function accountDiagnosis(end: Ended, memoryMb: number): Diagnosis {
  if (end.how === 'vacated' && end.code === undefined && end.reason.trim() === '')
    return byCause('evicted', ['The slot was taken back; the log does not say why.']);
  const diagnosis = diagnose(end, memoryMb);
  if (end.how !== 'exception' || diagnosis.cause !== 'unknown') return diagnosis;
  const because = [`HTCondor’s process for the job failed with these words: ${safeLine(end.reason)}`];
  return { ...diagnosis, because };
}

/** What shells and kernels mean by exit codes, whatever the program. */
const shellCodes: Partial<Record<number, string[]>> = {
  126: ['A shell ends so when a command cannot be executed.'],
  127: ['A shell ends so when a command is not found.'],
  137: ['A shell ends so when its command was killed (signal 9), often for lack of memory.'],
  139: ['A shell ends so when its command crashed (signal 11).'],
  143: ['A shell ends so when its command was told to end (signal 15).'],
};

/** How a program ended by itself. */
function exitDiagnosis(
  { termination, resources }: Extract<AttemptEnd, { how: 'exited' }>,
  memoryMb: number,
  ours: boolean,
): Diagnosis {
  const cause = exitCause(termination, ours);
  if (termination?.normal === true && cause === 'none')
    return { ...byCause(cause, ['It ended by itself with exit code 0.']), advice: [] };
  if (termination?.normal === true)
    return byCause(cause, [
      `The program ended by itself with exit code ${termination.returnValue}.`,
      ...(shellCodes[termination.returnValue] ?? []),
    ]);
  const row = resources.find(({ name }) => name === 'Memory');
  const used = Math.max(row?.usage ?? 0, memoryMb);
  return signalDiagnosis(termination, row?.request, used);
}

function signalDiagnosis(
  termination: Termination | undefined,
  asked: number | undefined,
  used: number,
): Diagnosis {
  const signal = termination?.normal === false ? termination.signal : undefined;
  const because = [
    signal === undefined
      ? 'The log does not say how the program ended.'
      : `The program was ended by signal ${signal}.`,
    ...(asked === undefined ? [] : [`It was seen to use ${used} MB of memory and asked for ${asked} MB.`]),
  ];
  const hint = hintOn(signal, asked === undefined ? 'unknown' : used > asked ? 'over' : used < asked / 2 ? 'far-below' : 'near');
  return byCause('signal', because, { advice: hint === undefined ? [] : [hint] });
}

function hintOn(signal: number | undefined, memory: 'unknown' | 'over' | 'near' | 'far-below'): string | undefined {
  if (signal === 11)
    return 'The program touched memory that is not its own: a mistake in it or in a library.';
  if (signal !== 9) return undefined;
  if (memory === 'over') return 'Ask for more memory: the machine may have killed it for that.';
  return memory === 'far-below'
    ? 'What was seen of its memory speaks against a lack of it, and the log does not show who sent the signal.'
    : undefined;
}
