import { given } from '@updraft/base';
import { attemptDiagnosis } from './attempt-diagnosis.ts';
import type { Diagnosis } from '../diagnosis/diagnose.ts';
import type { Evidence, AttemptHistory, JobDetails, JobHistory } from '../history/history.ts';
import { siteOrMachine } from '../history/worker.ts';

/** Attempts in a row that ended for the same cause. */
export interface Streak {
  from: number;
  to: number;
  diagnosis: Diagnosis;
  first: AttemptHistory;
  last: AttemptHistory;
}

const maxStreaks = 4;

const noEvidence: Evidence = { file: '', at: '', lines: [] };

export const detailsOf = ({ details }: JobHistory): JobDetails =>
  details ?? { first: noEvidence, last: noEvidence, holds: [], releases: [] };

/** The ended attempts of a job, grouped into streaks. */
export function streaksOf(attempts: readonly AttemptHistory[]): Streak[] {
  const streaks: Streak[] = [];
  for (const attempt of attempts) {
    const diagnosis = attemptDiagnosis(attempt);
    if (diagnosis === undefined) continue;
    const before = streaks.at(-1);
    if (before !== undefined && isSame(before.diagnosis, diagnosis))
      Object.assign(before, { to: attempt.number, diagnosis, last: attempt });
    else streaks.push({ from: attempt.number, to: attempt.number, diagnosis, first: attempt, last: attempt });
  }
  return streaks;
}

/** Unknown reasons are the same only if HTCondor's words are, apart from numbers. */
const isSame = (a: Diagnosis, b: Diagnosis): boolean =>
  a.cause === b.cause && withoutFigures(a.said) === withoutFigures(b.said);

const withoutFigures = (said = ''): string => said.replaceAll(/\d+/g, '0');

/** How the latest few streaks ended, in sentences with their evidence. */
export function describeStreaks(
  streaks: readonly Streak[],
  /** The diagnosis of the job itself, which is not repeated here. */
  now?: Diagnosis,
): { because: string[]; evidence: Evidence[] } {
  const shown = streaks.slice(-maxStreaks);
  const left = streaks.slice(0, -maxStreaks).reduce((sum, { from, to }) => sum + to - from + 1, 0);
  return {
    because: given(
      left !== 0 &&
        (left === 1
          ? 'The first attempt ended for another reason.'
          : `The first ${left} attempts ended for other reasons.`),
      ...shown.map((streak) => sentence(streak, now)),
    ),
    evidence: shown.flatMap(({ last }) => evidenceOfEnd(last)),
  };
}

/** Where the log has no end, the starts of this attempt and the next one are the evidence. */
function evidenceOfEnd({ details }: AttemptHistory): Evidence[] {
  if (details?.end === undefined) return [];
  const { began, end } = details;
  return end.how === 'silent' ? [began, end.evidence] : [end.evidence];
}

/** `Attempt 2 at Syracuse` */
export function attemptAt(attempt: AttemptHistory): string {
  const place = siteOrMachine(attempt);
  return `Attempt ${attempt.number}${place === '' ? '' : ` at ${place}`}`;
}

function sentence({ from, to, diagnosis, last }: Streak, now: Diagnosis | undefined): string {
  const place = siteOrMachine(last);
  const at = place === '' ? '' : ` at ${place}`;
  const because = diagnosis.because.slice(0, 2).join(' ');
  const who =
    from === to
      ? `Attempt ${from}${at}`
      : `Attempts ${from} ${to === from + 1 ? 'and' : 'to'} ${to}${at === '' ? '' : ` (attempt ${to}${at})`}`;
  if (because === now?.because.slice(0, 2).join(' ')) return `${who} ended like the last one.`;
  return from === to ? `${who}: ${because}` : `${who} ended the same way: ${because}`;
}
