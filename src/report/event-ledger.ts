import type { LogEvent } from '../eventlog/events.ts';
import { amountsOf, countAttempt, countWait } from './account-attempt.ts';
import type { Cause } from '../codes/causes.ts';
import { addAmounts, columns, noAmounts, slotColumns, sumOver, type Amounts } from './columns.ts';
import type { Ending, JobOutcome, JobHistory } from '../history/history.ts';
import type { LogFacts } from '../history/log-facts.ts';
import { LogFold } from '../history/log-fold.ts';

/** One attempt in time, its wait included. */
export interface AttemptRow {
  attempt: number;
  ending: Ending;
  cause: Cause | undefined;
  site: string;
  machine: string;
  gpu: string;
  /** Milliseconds per column. */
  millis: Amounts;
}

/** One job in time: its attempts and what came after them. */
export interface JobRow {
  job: string;
  outcome: JobOutcome;
  cause: Cause | undefined;
  attempts: AttemptRow[];
  /** Milliseconds per column; they add up to the time between the job's first and last event. */
  millis: Amounts;
  totalMillis: number;
  /** From its first match to its good end. */
  completionMillis: number | undefined;
}

/** Where the time of jobs went. Whole milliseconds, so that every sum is exact. */
export interface EventLedger {
  rows: JobRow[];
  sum: Amounts;
  totalMillis: number;
  /** Time on slots: neither queued nor idle nor held. */
  slotMillis: number;
  facts: LogFacts;
}

/** Where the time of the jobs of a log went; `events` as `readEventLog` gives them, or any other list of events. */
export async function ledger(events: AsyncIterable<LogEvent> | Iterable<LogEvent>): Promise<EventLedger> {
  const fold = new LogFold();
  for await (const event of events) fold.add(event);
  return ledgerOf(fold.finish(), fold.facts);
}

export function ledgerOf(jobs: readonly JobHistory[], facts: LogFacts): EventLedger {
  const rows = jobs.map(jobRow);
  const sum = noAmounts();
  for (const { millis } of rows) addAmounts(sum, millis);
  return { rows, sum, totalMillis: sumOver(sum, columns), slotMillis: sumOver(sum, slotColumns), facts };
}

function jobRow(job: JobHistory): JobRow {
  const attempts = job.attempts.map((attempt, index): AttemptRow => {
    const { number, ending, cause, site, machine, gpu } = attempt;
    const millis = amountsOf(countAttempt(attempt, index === 0));
    return { attempt: number, ending, cause, site, machine, gpu, millis };
  });
  const millis = jobMillis(job, attempts);
  return {
    job: job.id,
    outcome: job.outcome,
    cause: job.cause,
    attempts,
    millis,
    totalMillis: sumOver(millis, columns),
    completionMillis: completionOf(job),
  };
}

function jobMillis({ after }: JobHistory, attempts: readonly AttemptRow[]): Amounts {
  const [only] = attempts;
  // Most jobs have one attempt and nothing after it: its amounts are theirs, which saves a tenth of the memory.
  if (only !== undefined && attempts.length === 1 && after.length === 0) return only.millis;
  const millis = amountsOf(after.map((wait) => countWait(wait, attempts.length === 0)));
  for (const attempt of attempts) addAmounts(millis, attempt.millis);
  return millis;
}

function completionOf({ outcome, attempts, from: born, to }: JobHistory): number | undefined {
  const from = attempts[0]?.spans[0]?.from;
  return outcome === 'success' && from !== undefined ? to - born - from : undefined;
}
