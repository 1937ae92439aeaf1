import { attemptDiagnosis } from '../diagnosis/attempt-diagnosis.ts';
import type { Diagnosis } from '../diagnosis/diagnosis.ts';
import type { Evidence } from '../diagnosis/explanation.ts';
import type { StoryAttempt } from '../diagnosis/job-story.ts';

/** Attempts in a row that ended for the same cause. */
export interface Streak {
  from: number;
  to: number;
  diagnosis: Diagnosis;
  first: StoryAttempt;
  last: StoryAttempt;
}

const mostStreaks = 4;

/** The ended attempts of a job, those in a row with the same cause together. */
export function streaksOf(attempts: readonly StoryAttempt[]): Streak[] {
  const streaks: Streak[] = [];
  for (const [index, attempt] of attempts.entries()) {
    const diagnosis = attemptDiagnosis(attempt);
    if (diagnosis === undefined) continue;
    const before = streaks.at(-1);
    if (before !== undefined && isSame(before.diagnosis, diagnosis))
      Object.assign(before, { to: index + 1, diagnosis, last: attempt });
    else streaks.push({ from: index + 1, to: index + 1, diagnosis, first: attempt, last: attempt });
  }
  return streaks;
}

/** Reasons without a class are the same only where their words are, apart from numbers. */
function isSame(a: Diagnosis, b: Diagnosis): boolean {
  const words = ({ because }: Diagnosis): string => because.join(' ').replaceAll(/\d+/g, '0');
  return a.cause === b.cause && (a.cause !== 'unknown' || words(a) === words(b));
}

/** What became of earlier attempts, in sentences with their evidence: the latest few causes. */
export function tellStreaks(streaks: readonly Streak[]): { because: string[]; evidence: Evidence[] } {
  const told = streaks.slice(-mostStreaks);
  const left = streaks.slice(0, -mostStreaks).reduce((sum, { from, to }) => sum + to - from + 1, 0);
  return {
    because: [
      ...(left === 0 ? [] : [`The first ${left} attempts ended for other reasons.`]),
      ...told.map(sentence),
    ],
    evidence: told.flatMap(({ last }) => evidenceOfEnd(last)),
  };
}

/** Of an end nobody wrote down, the two beginnings tell. */
function evidenceOfEnd({ began, end }: StoryAttempt): Evidence[] {
  if (end === undefined) return [];
  return end.how === 'silent' ? [began, end.evidence] : [end.evidence];
}

function sentence({ from, to, diagnosis, last }: Streak): string {
  const place = placeOf(last);
  const because = diagnosis.because.slice(0, 2).join(' ');
  if (from === to) return `Attempt ${from}${place === '' ? '' : ` at ${place}`}: ${because}`;
  const at = place === '' ? '' : ` at ${place}`;
  return `Attempts ${from} ${to === from + 1 ? 'and' : 'to'} ${to} ended for the same cause, the last${at}: ${because}`;
}

/** Where an attempt ran, as a person names it. */
export const placeOf = ({ site, slot }: StoryAttempt): string =>
  site === '' ? slot.replace(/^[^@]*@/, '') : site;
