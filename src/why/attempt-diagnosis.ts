import type { Cause } from '../codes/causes.ts';
import { diagnosisOf, diagnose, type Diagnosis } from '../diagnosis/diagnose.ts';
import { exitMeaning } from '../diagnosis/exit-meaning.ts';
import { safeLine } from '../diagnosis/quote-event.ts';
import type { Termination } from '../eventlog/details.ts';
import type { AttemptEnd, AttemptHistory } from '../history/history.ts';

/** Why an attempt ended; undefined while it runs, and if it only ended because its job was removed. */
export function attemptDiagnosis(attempt: AttemptHistory): Diagnosis | undefined {
  const diagnosis = endDiagnosis(attempt);
  if (!attempt.details?.saves || diagnosis?.cause !== 'evicted') return diagnosis;
  return { ...diagnosis, because: [...diagnosis.because, 'Its files were saved first.'], advice: [] };
}

function endDiagnosis({ details, cause }: AttemptHistory): Diagnosis | undefined {
  const { end, complaint, memoryMb = 0 } = details ?? {};
  if (end === undefined || end.how === 'removed') return undefined;
  if (end.how === 'silent') return silentEnd;
  if (end.how === 'exited') return exitDiagnosis(end, cause ?? 'exit-code', memoryMb);
  if (end.reason.trim() !== '' || complaint === undefined) return reasonDiagnosis(end, memoryMb);
  // The code of a complaint is the other side's view of the transfer, so only its words are used.
  return reasonDiagnosis({ ...end, reason: complaint.text }, memoryMb);
}

const silentEnd = diagnosisOf('silent-end', [
  'The log has no event for its end: its condor_shadow on the access point was killed, or the access point was restarted.',
]);

function reasonDiagnosis(end: AttemptEnd, memoryMb: number): Diagnosis {
  if (end.how === 'vacated' && end.code === undefined && end.reason.trim() === '')
    return diagnosisOf('evicted', ['The pool took the slot back; the log does not say why.']);
  const diagnosis = diagnose(end, memoryMb);
  if (end.how !== 'exception' || diagnosis.cause !== 'unknown') return diagnosis;
  return {
    ...diagnosis,
    because: [`HTCondor's process for the job failed with this error: ${safeLine(end.reason)}`],
  };
}

function exitDiagnosis({ termination, resources }: AttemptEnd, cause: Cause, memoryMb: number): Diagnosis {
  if (termination?.normal === true && termination.returnValue === 0)
    return { ...diagnosisOf('none', ['It exited with code 0.']), advice: [] };
  if (termination?.normal === true)
    return diagnosisOf(cause, [
      `The program exited with code ${termination.returnValue}.`,
      ...meaningOf(termination),
    ]);
  const row = resources.find(({ name }) => name === 'Memory');
  const used = Math.max(row?.usage ?? 0, memoryMb);
  return signalDiagnosis(termination, row?.request, used);
}

function meaningOf(termination: Termination | undefined): string[] {
  const meaning = termination && exitMeaning(termination);
  return meaning === undefined ? [] : [meaning];
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
      : `The program was killed by signal ${signal}.`;
  const meaning = meaningOf(termination);
  if (signal !== 9 || asked === undefined) return diagnosisOf('signal', [how, ...meaning]);
  const seen = `It requested ${asked} MB of memory and used up to ${used} MB, as far as the log shows.`;
  if (used > asked)
    return diagnosisOf('signal', [how, ...meaning, seen], {
      advice: ['Request more memory: the machine may have killed it for that.'],
    });
  if (used >= asked / 2) return diagnosisOf('signal', [how, ...meaning, seen]);
  return {
    ...diagnosisOf('signal', [how, seen, 'A lack of memory is unlikely; the log does not show who sent it.']),
    advice: ['Read what the program printed, or ask the staff of the machine what sent the signal.'],
  };
}
