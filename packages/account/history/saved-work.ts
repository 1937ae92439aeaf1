import { savesOf } from '../journal/fold-agent.ts';
import {
  type AttemptHistory,
  type JobHistory,
  type Span,
  type Activity,
  returnsFiles,
  type Ending,
} from './history.ts';

/** Endings of an attempt whose program exited, so that its last output was its results. */
const byItself: ReadonlySet<Ending> = new Set(['success', 'wrong-output', 'failed', 'requeued']);
const afterTheEnd = new Set(['output-failed', 'output-too-big', 'output-missing', 'job-policy']);

const endedByItself = ({ ending, cause = 'unknown' }: AttemptHistory): boolean =>
  byItself.has(ending) || ((ending === 'held' || ending === 'evicted') && afterTheEnd.has(cause));

const isExecuting = ({ doing }: Span<Activity>): boolean => doing === 'training';
const isResult = ({ doing, isCheckpoint }: Span<Activity>): boolean =>
  returnsFiles(doing) && isCheckpoint !== true;

export const hasExecuted = ({ spans }: AttemptHistory): boolean => spans.some(isExecuting);

/** The span in which an attempt returned its results, or -1. */
export const returningSpan = (attempt: AttemptHistory): number =>
  hasExecuted(attempt) && endedByItself(attempt) ? attempt.spans.findLastIndex(isResult) : -1;

/** The time up to which work was saved: the end of the last complete checkpoint transfer. */
export function keptUntil(attempt: AttemptHistory, returned: number): number {
  const { spans, checkpointed, ending } = attempt;
  if (checkpointed) return Infinity;
  if (ending === 'wrong-output') return -Infinity;
  const executedFrom = spans.findIndex(isExecuting);
  // A loop, because a log may have a million attempts: it makes no function for each.
  for (let at = spans.length - 1; at > executedFrom && executedFrom !== -1; at--) {
    const span = spans[at];
    if (span !== undefined && returnsFiles(span.doing) && span.failed !== true && at !== returned)
      return span.to;
  }
  return -Infinity;
}

/** Whether a job has saved a checkpoint in some attempt, so that it resumes from there. */
export const savesCheckpoints = ({ attempts }: JobHistory): boolean =>
  attempts.some(
    (attempt) =>
      savesOf(attempt.agent?.training) !== undefined ||
      keptUntil(attempt, returningSpan(attempt)) > -Infinity,
  );
