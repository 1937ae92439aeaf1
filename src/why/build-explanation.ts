import { causeTitle } from '../codes/causes.ts';
import type { Diagnosis } from '../diagnosis/diagnose.ts';
import type { Evidence, Explanation, JobStatus } from '../diagnosis/explanation.ts';
import type { JobHistory } from '../history/history.ts';
import { detailsOf } from './past-attempts.ts';
import { releasesByRule, times, type RunRules } from './describe-action.ts';

/** What an explanation says beyond how the job stands. */
interface Parts {
  because: string[];
  evidence: Evidence[];
  doing: string[];
  advice: string[];
}

export const explained = (
  { id }: JobHistory,
  standing: JobStatus,
  { cause }: Diagnosis,
  parts: Parts,
): Explanation => ({
  job: id,
  standing,
  cause,
  title: causeTitle(cause),
  ...parts,
});

/** The author of a submit file has more to change than the author of a job file. */
export const adviceOf = ({ advice, submitAdvice = [] }: Diagnosis, rules: RunRules | undefined): string[] =>
  rules === undefined ? [...advice, ...submitAdvice] : advice;

export const nothingWrong: Diagnosis = { cause: 'none', because: [], outlook: 'lasting', advice: [] };

/** The title of a job that ended well, or runs, in its nth attempt. */
export const goodTitle = (attempt: number): string =>
  attempt > 1 ? `${causeTitle('none')}, but it took more than one attempt` : causeTitle('none');

/** How often it was held, if more than once. */
export function holdCount(job: JobHistory): string[] {
  const { holds, releases } = detailsOf(job);
  if (holds.length < 2) return [];
  const byRule = releasesByRule(job);
  const some = byRule === releases.length ? '' : ` ${byRule} of them`;
  const who = byRule === 0 ? '' : `,${some} by a rule of its own`;
  return [`It has been held ${times(holds.length)} and released ${times(releases.length)}${who}.`];
}

/** Lost connections that did no harm. */
export function reconnects({ attempts }: JobHistory): string[] {
  const count = attempts.reduce((sum, { details }) => sum + (details?.reconnects ?? 0), 0);
  const lost = `The connection to its machine was lost and restored ${times(count)}, without harm.`;
  return count === 0 ? [] : [lost];
}
