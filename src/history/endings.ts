import type { JobStatus } from '../diagnosis/explanation.ts';
import type { Outcome } from '../journal/entry.ts';
import type { Ending, JobOutcome } from './history.ts';

/** How an attempt ended, in a sentence for people who know no more than that. */
export const endings: Record<Ending, string> = {
  success: 'It produced a valid result.',
  'wrong-output': 'It exited without a valid result.',
  failed: 'It failed.',
  requeued: 'It exited, and was put back into the queue.',
  evicted: 'The pool took the slot back.',
  held: 'It was held.',
  removed: 'It was removed.',
  'transfer-failed': 'A transfer failed.',
  lost: 'It exited without reporting why.',
  running: 'It is running.',
};

/** The words of journals: what each is of an attempt, and of a job whose last attempt has it. */
export const ofOutcome: Record<Outcome, { ending: Ending; job: JobOutcome }> = {
  success: { ending: 'success', job: 'success' },
  'wrong-output': { ending: 'wrong-output', job: 'wrongOutput' },
  failed: { ending: 'failed', job: 'failed' },
  evicted: { ending: 'evicted', job: 'failed' },
  stopped: { ending: 'removed', job: 'removed' },
  lost: { ending: 'lost', job: 'failed' },
};

/** The state of a job, as `why` says it; `why` also knows jobs that loop. */
export const statuses: Record<JobOutcome, JobStatus> = {
  success: 'succeeded',
  wrongOutput: 'failed',
  failed: 'failed',
  removed: 'removed',
  held: 'held',
  running: 'running',
  waiting: 'waiting',
};
