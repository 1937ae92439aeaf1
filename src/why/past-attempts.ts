import { attemptDiagnosis } from './attempt-diagnosis.ts';
import type { Diagnosis } from '../diagnosis/diagnose.ts';
import type { Evidence } from '../diagnosis/explanation.ts';
import type { AttemptHistory, JobDetails, JobHistory } from '../history/history.ts';
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

/** Unknown reasons are the same only if their words are, apart from numbers. */
function isSame(a: Diagnosis, b: Diagnosis): boolean {
  const words = ({ because }: Diagnosis): string => because.join(' ').replaceAll(/\d+/g, '0');
  return a.cause === b.cause && (a.cause !== 'unknown' || words(a) === words(b));
}

/** How the latest few streaks ended, in sentences with their evidence. */
export function describeStreaks(
  streaks: readonly Streak[],
  /** The diagnosis of the job itself, which is not repeated here. */
  now?: Diagnosis,
): { because: string[]; evidence: Evidence[] } {
  const shown = streaks.slice(-maxStreaks);
  const left = streaks.slice(0, -maxStreaks).reduce((sum, { from, to }) => sum + to - from + 1, 0);
  return {
    because: [
      ...(left === 0
        ? []
        : [
            left === 1
              ? 'The first attempt ended for another reason.'
              : `The first ${left} attempts ended for other reasons.`,
          ]),
      ...shown.map((streak) => sentence(streak, now)),
    ],
    evidence: shown.flatMap(({ last }) => evidenceOfEnd(last)),
  };
}

/** Where the log has no end, the starts of this attempt and the next one are the evidence. */
function evidenceOfEnd({ details }: AttemptHistory): Evidence[] {
  if (details?.end === undefined) return [];
  const { began, end } = details;
  return end.how === 'silent' ? [began, end.evidence] : [end.evidence];
}

/** A sentence after a colon: names keep their capital. */
export const midSentence = (text: string): string =>
  text.replace(/^(?:The|It|Its|A|An|No|This|Shells|Nothing|Nobody)\b/, (word) => word.toLowerCase());

function sentence({ from, to, diagnosis, last }: Streak, now: Diagnosis | undefined): string {
  const place = siteOrMachine(last);
  const at = place === '' ? '' : ` at ${place}`;
  const because = diagnosis.because.slice(0, 2).join(' ');
  const who =
    from === to
      ? `Attempt ${from}${at}`
      : `Attempts ${from} ${to === from + 1 ? 'and' : 'to'} ${to}${at === '' ? '' : ` (attempt ${to}${at})`}`;
  if (because === now?.because.slice(0, 2).join(' ')) return `${who} ended like the last one.`;
  const said = midSentence(because);
  return from === to ? `${who}: ${said}` : `${who} ended the same way: ${said}`;
}
