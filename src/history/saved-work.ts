import type { Activity, AttemptHistory, Ending, JobHistory, Span } from './history.ts';

/** Endings of an attempt whose program exited, so that its last output was its results. */
const byItself: ReadonlySet<Ending> = new Set(['success', 'wrong-output', 'failed', 'requeued']);
const afterTheEnd = new Set(['output-failed', 'output-too-big', 'output-missing', 'job-policy']);

const endedByItself = ({ ending, cause = 'unknown' }: AttemptHistory): boolean =>
  byItself.has(ending) || ((ending === 'held' || ending === 'evicted') && afterTheEnd.has(cause));

export const hasExecuted = ({ spans }: AttemptHistory): boolean =>
  spans.some(({ doing }) => doing === 'executing');

const lastOutput = (spans: readonly Span<Activity>[]): number =>
  spans.findLastIndex(({ doing, isCheckpoint }) => doing === 'output' && isCheckpoint !== true);

/** The span in which an attempt returned its results, or -1. */
export const returningSpan = (attempt: AttemptHistory): number =>
  hasExecuted(attempt) && endedByItself(attempt) ? lastOutput(attempt.spans) : -1;

/** The time up to which work was saved: the end of the last complete checkpoint transfer. */
export function keptUntil(attempt: AttemptHistory, returned: number): number {
  const { spans, checkpointed, ending } = attempt;
  if (checkpointed) return Infinity;
  if (ending === 'wrong-output') return -Infinity;
  const executedFrom = spans.findIndex(({ doing }) => doing === 'executing');
  const last = spans.findLastIndex(
    ({ doing, failed }, index) => doing === 'output' && failed !== true && index !== returned,
  );
  return executedFrom !== -1 && last > executedFrom ? (spans[last]?.to ?? -Infinity) : -Infinity;
}

/** Whether a job has saved a checkpoint in some attempt, so that it resumes from there. */
export const savesCheckpoints = ({ attempts }: JobHistory): boolean =>
  attempts.some(
    (attempt) => (attempt.saved?.saves ?? 0) > 0 || keptUntil(attempt, returningSpan(attempt)) > -Infinity,
  );
