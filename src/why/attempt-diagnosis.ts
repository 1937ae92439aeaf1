import type { Cause } from '../codes/causes.ts';
import { byCause, diagnose, type Diagnosis } from '../diagnosis/diagnose.ts';
import { safeLine } from '../diagnosis/quote-event.ts';
import type { Termination } from '../eventlog/details.ts';
import type { AttemptEnd, AttemptHistory } from '../history/history.ts';

/** Why an attempt ended; undefined while it has not, and for one that only went with its job. */
export function attemptDiagnosis(attempt: AttemptHistory): Diagnosis | undefined {
  const diagnosis = endDiagnosis(attempt);
  if (!attempt.details?.saves || diagnosis?.cause !== 'evicted') return diagnosis;
  return { ...diagnosis, because: [...diagnosis.because, 'Its files had been saved before.'], advice: [] };
}

function endDiagnosis({ details, cause }: AttemptHistory): Diagnosis | undefined {
  const { end, complaint, memoryMb = 0 } = details ?? {};
  if (end === undefined || end.how === 'removed') return undefined;
  if (end.how === 'silent') return silentEnd;
  if (end.how === 'exited') return exitDiagnosis(end, cause ?? 'exit-code', memoryMb);
  if (end.reason.trim() !== '' || complaint === undefined) return accountDiagnosis(end, memoryMb);
  // The complaint's own code is the other side's view of the transfer: only its words are taken.
  return accountDiagnosis({ ...end, reason: complaint.text }, memoryMb);
}

const silentEnd = byCause('silent-end', [
  'The attempt ended without a word in the log: HTCondor’s process for it on the access point was killed, or the access point was restarted.',
]);

function accountDiagnosis(end: AttemptEnd, memoryMb: number): Diagnosis {
  if (end.how === 'vacated' && end.code === undefined && end.reason.trim() === '')
    return byCause('evicted', ['The slot was taken back; the log does not say why.']);
  const diagnosis = diagnose(end, memoryMb);
  if (end.how !== 'exception' || diagnosis.cause !== 'unknown') return diagnosis;
  return {
    ...diagnosis,
    because: [`HTCondor’s process for the job failed with these words: ${safeLine(end.reason)}`],
  };
}

/** What shells and kernels mean by exit codes, whatever the program. */
const shellCodes: Partial<Record<number, string[]>> = {
  126: ['A shell ends so when a command cannot be executed.'],
  127: ['A shell ends so when a command is not found.'],
  137: ['A shell ends so when its command was killed (signal 9), often for lack of memory.'],
  139: ['A shell ends so when its command crashed (signal 11).'],
  143: ['A shell ends so when its command was asked to end (signal 15).'],
};

/** How a program ended by itself. */
function exitDiagnosis({ termination, resources }: AttemptEnd, cause: Cause, memoryMb: number): Diagnosis {
  if (termination?.normal === true && termination.returnValue === 0)
    return { ...byCause('none', ['It ended by itself with exit code 0.']), advice: [] };
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
  const how =
    signal === undefined
      ? 'The log does not say how the program ended.'
      : `The program was ended by signal ${signal}.`;
  const crashed = 'It touched memory that is not its own: a mistake in it or in a library.';
  if (signal === 11) return byCause('signal', [how, crashed]);
  if (asked === undefined) return byCause('signal', [how]);
  const seen = `It was seen to use ${used} MB of memory and asked for ${asked} MB.`;
  const hint =
    used > asked
      ? 'Ask for more memory: the machine may have killed it for that.'
      : 'What was seen of its memory speaks against a lack of it; the log does not show who sent the signal.';
  const isTelling = signal === 9 && (used > asked || used < asked / 2);
  return byCause('signal', [how, seen], { advice: isTelling ? [hint] : [] });
}
