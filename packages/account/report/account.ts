import { causeInfo } from '../codes/causes.ts';
import {
  type AttemptHistory,
  type JobHistory,
  type Span,
  type Wait,
  activities,
  type Activity,
  returnsFiles,
  endings,
} from '../history/history.ts';
import { hasExecuted, keptUntil, returningSpan } from '../history/saved-work.ts';
import { noRowAmounts, usefulColumns, type Amounts, type Column } from './columns.ts';

/** A span of an attempt and its column. */
export interface Counted {
  column: Column;
  from: number;
  to: number;
}

/** Every span of a job in its column: by attempt, including the wait before it, and after the last. */
export interface CountedJob {
  attempts: Counted[][];
  after: Counted[];
}

/** Nothing is useful yet in a job in `doubt`, which may have no result. */
export function countJob(job: JobHistory, doubt = false): CountedJob {
  const listed = (walk: (count: Count) => void): Counted[] => {
    const counted: Counted[] = [];
    walk((column, from, to) => counted.push({ column, from, to }));
    return counted;
  };
  return {
    attempts: job.attempts.map((_, index) => listed((count) => countAttempt(job, index, doubt, count))),
    after: listed((count) => countAfter(job, count)),
  };
}

/**
 * Adds up milliseconds per column. One serves all jobs: a log may have a million, and a function for each takes
 * memory.
 */
export class Adder {
  #amounts = noRowAmounts();

  readonly count: Count = (column, from, to) => {
    this.#amounts[column] += to - from;
  };

  /** What was counted since the last time. */
  take(): Amounts {
    const amounts = this.#amounts;
    this.#amounts = noRowAmounts();
    return amounts;
  }
}

type Count = (column: Column, from: number, to: number) => void;

/** Counts the waits and spans of an attempt, without a list of them: a log may have a million attempts. */
export function countAttempt(job: JobHistory, index: number, doubt: boolean, count: Count): void {
  const attempt = job.attempts[index];
  if (attempt === undefined) return;
  countWaits(attempt.waits, index === 0, count);
  countSpans(job, index, doubt, count);
}

/** Counts what follows the last attempt. */
export function countAfter({ attempts, after }: JobHistory, count: Count): void {
  countWaits(after, attempts.length === 0, count);
}

function countWaits(waits: readonly Span<Wait>[], isFirst: boolean, count: Count): void {
  for (const { doing, from, to } of waits)
    count(doing === 'held' ? 'held' : isFirst ? 'queued' : 'idle', from, to);
}

/**
 * The column of compute that was saved in a checkpoint: useful if a later attempt resumed from it, unless the job then
 * failed; `underWay` until that is known.
 */
function savedColumn(job: JobHistory, index: number): Column {
  const { outcome, attempts } = job;
  if (outcome === 'failed' || outcome === 'removed' || outcome === 'wrong-output') return lostWith(job);
  if (index === attempts.length - 1)
    return outcome === 'success' ? computeColumn(job, attempts[index]) : 'underWay';
  return columnOfEarlier(job, index);
}

function columnOfEarlier(job: JobHistory, index: number): Column {
  const { outcome, attempts } = job;
  // Another cluster of the same node starts fresh.
  const isSame = ({ id }: AttemptHistory) => id === attempts[index]?.id;
  const later = attempts.slice(index + 1);
  if (later.some((one) => isSame(one) && hasExecuted(one))) return 'usefulCompute';
  const isLast = later.every(isSame);
  return isLast && outcome !== 'success' ? 'underWay' : computeColumn(job, attempts[index]);
}

function countSpans(job: JobHistory, index: number, doubt: boolean, count: Count): void {
  const attempt = job.attempts[index];
  if (attempt === undefined) return;
  const { spans } = attempt;
  const facts = factsOf(job, attempt, savedColumn(job, index));
  for (let at = 0; at < spans.length; at++) {
    const span = spans[at];
    if (span === undefined) continue;
    const own = columnOf(span, at, facts);
    count(doubt && usefulColumns.includes(own) ? 'underWay' : own, span.from, span.to);
  }
}

/** What decides the column of a span. */
function factsOf(job: JobHistory, attempt: AttemptHistory, saved: Column) {
  const returned = returningSpan(attempt);
  const kept = keptUntil(attempt, returned);
  const compute = computeColumn(job, attempt);
  const keepsWork = isKept(compute) || (kept > -Infinity && isKept(saved));
  // One that died at its start is lost with all that it did before.
  const isLost = !isKept(compute) && !hasExecuted(attempt);
  return { attempt, saved, returned, kept, compute, keepsWork, isLost };
}

function columnOf(
  { doing, to, failed }: Span<Activity>,
  index: number,
  facts: ReturnType<typeof factsOf>,
): Column {
  const { attempt, saved, returned, compute } = facts;
  if (doing === 'training' && failed === true) return isKept(compute) ? 'lostToEviction' : compute;
  if (returnsFiles(doing)) {
    if (facts.isLost) return compute;
    if (!hasExecuted(attempt)) return 'overhead';
    if (failed === true) return isKept(compute) ? 'overhead' : compute;
    return index === returned ? 'returning' : isKept(saved) ? 'saving' : saved;
  }
  if (doing !== 'training') {
    const own = activities[doing].column;
    if (usefulColumns.includes(own))
      return isOpenSpan(attempt, index) ? 'underWay' : facts.keepsWork ? own : 'retriedTransfer';
    return facts.isLost && (own === 'overhead' || own === 'unknown') ? compute : own;
  }
  // After the results were returned there is nothing left to compute.
  if (returned !== -1 && index > returned) return 'overhead';
  return to <= facts.kept ? saved : compute;
}

const isKept = (column: Column): boolean => column === 'usefulCompute' || column === 'underWay';

const isOpenSpan = ({ ending, spans }: AttemptHistory, index: number): boolean =>
  ending === 'running' && index === spans.length - 1;

function computeColumn(job: JobHistory, attempt: AttemptHistory | undefined): Column {
  const { ending = 'failed', cause } = attempt ?? {};
  const { column } = endings[ending];
  if (isKept(column) || ending === 'wrong-output') return column;
  if (cause === 'time-limit') return 'lostToTimeLimit';
  // One that a user held or vacated is removed only if its job is.
  if (cause === 'user' && ending !== 'removed')
    return job.outcome === 'removed' ? 'lostToRemoval' : 'lostToEviction';
  return column === 'lostToEviction' && isFailure(cause) ? 'lostToFailure' : column;
}

/** The column of everything a job had saved if it ends without a result. */
function lostWith({ outcome, cause }: JobHistory): Column {
  if (outcome === 'wrong-output') return 'lostToWrongOutput';
  if (cause === 'time-limit') return 'lostToTimeLimit';
  return outcome === 'removed' ? 'lostToRemoval' : 'lostToFailure';
}

/** Whether an attempt that the log calls evicted failed for a reason of its own: something must change first. */
function isFailure(cause: AttemptHistory['cause']): boolean {
  if (cause === undefined) return false;
  const { change } = causeInfo(cause);
  return change !== 'retry' && change !== 'staff';
}
