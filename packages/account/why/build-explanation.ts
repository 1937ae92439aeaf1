import { causeTitle, causeTitles } from '../codes/causes.ts';
import { adviceOn, type Diagnosis } from '../diagnosis/diagnose.ts';
import type { Explanation, JobStatus } from '../diagnosis/explanation.ts';
import type { Evidence, JobHistory } from '../history/history.ts';
import { savesCheckpoints } from '../history/saved-work.ts';
import { detailsOf } from './past-attempts.ts';
import { releasesByRule, times, type RunRules } from './describe-action.ts';

export const explained = (
  { id }: JobHistory,
  standing: JobStatus,
  { cause }: Diagnosis,
  parts: { because: string[]; evidence: Evidence[]; doing: string[]; advice: string[] },
): Explanation => ({ job: id, standing, cause, ...causeTitles(cause), ...parts });

/** What helps; advice about the submit file is only for those who wrote it. */
export const adviceOf = (diagnosis: Diagnosis, job: JobHistory, rules: RunRules | undefined): string[] =>
  adviceOn(diagnosis, { isOurs: rules !== undefined, resumes: savesCheckpoints(job) });

export const nothingWrong: Diagnosis = {
  cause: 'none',
  because: [],
  outlook: 'lasting',
  advice: [],
  isAllAdvice: true,
};

/** The title of a job that succeeded, or runs, in its nth attempt. */
export const goodTitle = (attempt: number): string =>
  attempt > 1 ? `${causeTitle('none')}, but it took more than one attempt` : causeTitle('none');

export function holdCount(job: JobHistory): string[] {
  const { holds, releases } = detailsOf(job);
  if (holds.length < 2) return [];
  const byRule = releasesByRule(job);
  const some = byRule === releases.length ? '' : ` ${times(byRule)}`;
  const who = byRule === 0 ? '' : `,${some} by a rule of the job`;
  return [`It has been held ${times(holds.length)} and released ${times(releases.length)}${who}.`];
}

export function reconnects({ attempts }: JobHistory): string[] {
  const count = attempts.reduce((sum, { details }) => sum + (details?.reconnects ?? 0), 0);
  const lost = `The connection to its machine was lost and restored ${times(count)}; the job continued.`;
  return count === 0 ? [] : [lost];
}
