import { isPoolCause, sentence, type Cause } from '../codes/causes.ts';
import { diagnosisOf, diagnose, type Diagnosis } from '../diagnosis/diagnose.ts';
import { exitMeaning, exitWords } from '../diagnosis/exit-meaning.ts';
import { safeLine } from '../diagnosis/quote-event.ts';
import { type AttemptEnd, type AttemptHistory, endings } from '../history/history.ts';
import { keptUntil, returningSpan } from '../history/saved-work.ts';
import { formatDuration } from '@updraft/base';
import type { FaultRecord } from '../journal/entry.ts';

/** Why an attempt ended; undefined while it runs, and if it only ended because its job was removed. */
export function attemptDiagnosis(attempt: AttemptHistory): Diagnosis | undefined {
  const { fault, details } = attempt;
  if (fault !== undefined) return faultDiagnosis(fault);
  const diagnosis = details === undefined ? unloggedEnd(attempt) : endDiagnosis(attempt);
  if (diagnosis?.cause !== 'evicted') return diagnosis;
  const { because } = diagnosis;
  if (!details?.saves) return { ...diagnosis, because: [...because, ...lostWork(attempt)] };
  return { ...diagnosis, because: [...because, 'Its files were saved first.'], isAllAdvice: true };
}

/** By what an agent or the access point recorded. For our own faults, the general advice is their fix again. */
function faultDiagnosis({ kind, message, fix = '', cause = kind }: FaultRecord): Diagnosis {
  const own = sentence(safeLine(fix));
  const diagnosis = diagnosisOf(cause, [safeLine(message)], own === '' ? [] : [own]);
  return own === '' || isPoolCause(cause) ? diagnosis : { ...diagnosis, isAllAdvice: true };
}

/** An attempt that nobody reported on, by a run's journals. */
function unloggedEnd({ ending, cause = 'silent-end' }: AttemptHistory): Diagnosis | undefined {
  if (ending === 'running' || ending === 'success' || ending === 'removed') return undefined;
  return diagnosisOf(cause, [endings[ending].said]);
}

/** What an eviction cost: the time that the program ran since its work was last saved. */
function lostWork(attempt: AttemptHistory): string[] {
  const kept = keptUntil(attempt, returningSpan(attempt));
  const lost = attempt.spans
    .filter(({ doing, to }) => doing === 'training' && to > kept)
    .reduce((sum, { from, to }) => sum + to - Math.max(from, kept), 0);
  const since = kept > 0 ? ' since its last checkpoint' : '';
  return lost < 1000 ? [] : [`It lost ${formatDuration(Math.round(lost / 1000))} of work${since}.`];
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
  'The log has no event for its end: its condor_shadow on the access point was killed, or the access ' +
    'point was restarted.',
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
  const meaning = (termination && exitMeaning(termination)) ?? [];
  if (termination?.normal === true) {
    if (termination.returnValue === 0)
      return { ...diagnosisOf('none', ['It exited with code 0.']), isAllAdvice: true };
    return diagnosisOf(cause, [`The program ${exitWords(termination)}.`].concat(meaning));
  }
  const row = resources.find(({ name }) => name === 'Memory');
  const used = Math.max(row?.usage ?? 0, memoryMb);
  const signal = termination?.signal;
  const who = cause === 'agent-killed' ? 'The agent' : 'The program';
  const how =
    termination === undefined
      ? 'The log does not say how the program ended.'
      : `${who} ${exitWords(termination)}.`;
  const asked = row?.request;
  if (signal !== 9 || asked === undefined) return diagnosisOf(cause, [how].concat(meaning));
  const seen = `It requested ${asked} MB of memory and used up to ${used} MB, as far as the log shows.`;
  if (used >= asked / 2) {
    const advice = 'Request more memory: the machine may have killed it for that.';
    return diagnosisOf(cause, [how].concat(meaning, seen), used > asked ? [advice] : []);
  }
  return {
    ...diagnosisOf(cause, [how, seen, 'A lack of memory is unlikely; the log does not show who sent it.']),
    advice: ['Read what the program printed, or ask the staff of the machine what sent the signal.'],
    isAllAdvice: true,
  };
}
