import { adviceFor, type Cause, isCheaperWithCheckpoints } from '../codes/causes.ts';
import type { JobHistory } from '../history/history.ts';
import { savesCheckpoints } from '../history/saved-work.ts';

/** What helps these jobs against a cause; those that resume from checkpoints are not advised to save some. */
export function remedyFor(jobs: readonly JobHistory[], cause: Cause, source: 'log' | 'run'): string {
  const hasIt = (job: JobHistory): boolean =>
    job.cause === cause || job.attempts.some((attempt) => attempt.cause === cause);
  const affected = isCheaperWithCheckpoints(cause) ? jobs.filter(hasIt) : [];
  return adviceFor(cause, source, affected.length > 0 && affected.every(savesCheckpoints));
}
