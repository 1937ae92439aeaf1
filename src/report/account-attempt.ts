import { noAmounts, type Amounts, type Column } from './columns.ts';
import type { Doing, Ending, AttemptHistory, Span, Wait } from '../history/history.ts';

/** Endings of an attempt that came to its own end, so that what it sent last were its results. */
const byItself: ReadonlySet<Ending> = new Set(['success', 'wrong-output', 'failed', 'requeued']);
const afterTheEnd = new Set(['output-failed', 'output-too-big', 'output-missing', 'job-policy']);

/** A stretch of an attempt and the column it counts in. */
export interface Counted {
  column: Column;
  from: number;
  to: number;
}

/** Every stretch of an attempt, its waits included, in its column. */
export function countAttempt(attempt: AttemptHistory, first: boolean): Counted[] {
  return [...attempt.waits.map((wait) => countWait(wait, first)), ...countSpans(attempt)];
}

export function countWait({ doing, from, to }: Span<Wait>, first: boolean): Counted {
  return { column: doing === 'held' ? 'held' : first ? 'queued' : 'idle', from, to };
}

/** Milliseconds per column. */
export function amountsOf(counted: readonly Counted[]): Amounts {
  const amounts = noAmounts();
  for (const { column, from, to } of counted) amounts[column] += to - from;
  return amounts;
}

function countSpans(attempt: AttemptHistory): Counted[] {
  const { spans } = attempt;
  const executed = spans.some(({ doing }) => doing === 'executing');
  const returned = executed && endedByItself(attempt) ? lastOutput(spans) : -1;
  const kept = keptUntil(attempt, returned);
  const compute = computeColumn(attempt);
  const keepsWork = kept > -Infinity || compute === 'usefulCompute' || compute === 'underWay';
  return spans.map(({ doing, from, to }, index) => {
    const column = (): Column => {
      if (doing === 'input' || doing === 'unpacking') return inputColumn(attempt, keepsWork, index);
      if (doing === 'output') return !executed ? 'overhead' : index === returned ? 'returning' : 'saving';
      if (doing !== 'executing') return plain[doing];
      // After the results were sent there is nothing left to compute.
      if (returned !== -1 && index > returned) return 'overhead';
      return to <= kept ? 'usefulCompute' : compute;
    };
    return { column: column(), from, to };
  });
}

const plain: Record<Exclude<Doing, 'input' | 'unpacking' | 'output' | 'executing'>, Column> = {
  queue: 'overhead',
  starting: 'overhead',
  stalled: 'retriedTransfer',
  suspended: 'suspended',
  'cut-off': 'unknown',
  silent: 'unknown',
};

function inputColumn({ ending, spans }: AttemptHistory, keepsWork: boolean, index: number): Column {
  if (ending === 'running' && index === spans.length - 1) return 'underWay';
  if (!keepsWork) return 'retriedTransfer';
  return spans[index]?.doing === 'unpacking' ? 'unpacking' : 'usefulTransfer';
}

function endedByItself({ ending, cause = 'unknown' }: AttemptHistory): boolean {
  return byItself.has(ending) || ((ending === 'held' || ending === 'evicted') && afterTheEnd.has(cause));
}

const lastOutput = (spans: readonly Span<Doing>[]): number =>
  spans.findLastIndex(({ doing }) => doing === 'output');

/** The moment up to which the work was saved: the end of the last checkpoint that was sent. */
function keptUntil({ spans, checkpointed, ending }: AttemptHistory, returned: number): number {
  if (checkpointed) return Infinity;
  if (ending === 'wrong-output') return -Infinity;
  const executedFrom = spans.findIndex(({ doing }) => doing === 'executing');
  const last = spans.findLastIndex(({ doing }, index) => doing === 'output' && index !== returned);
  return executedFrom !== -1 && last > executedFrom ? (spans[last]?.to ?? -Infinity) : -Infinity;
}

function computeColumn({ ending, cause }: AttemptHistory): Column {
  if (ending === 'success') return 'usefulCompute';
  if (ending === 'running') return 'underWay';
  if (ending === 'wrong-output') return 'lostToWrongOutput';
  if (cause === 'time-limit') return 'lostToTimeLimit';
  if (ending === 'removed' || cause === 'user') return 'lostToRemoval';
  if (ending === 'evicted' || ending === 'lost') return isFailure(cause) ? 'lostToFailure' : 'lostToEviction';
  return 'lostToFailure';
}

/** Evictions that are the job's own doing. */
const isFailure = (cause: AttemptHistory['cause']): boolean =>
  cause === 'memory-exceeded' || cause === 'disk-exceeded' || cause === 'environment-broken';
