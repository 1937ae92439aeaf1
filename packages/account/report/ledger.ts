import type { Cause } from '../codes/causes.ts';
import type { LogEvent } from '@updraft/htcondor/eventlog';
import type { AttemptHistory, JobHistory, JobOutcome } from '../history/history.ts';
import type { LogFacts } from '../history/log-facts.ts';
import type { Parameters } from '../journal/describe-parameters.ts';
import { speedNames } from '../history/speeds.ts';
import { csvLine } from '@updraft/view/document';
import { LogFold } from '../history/log-fold.ts';
import { Adder, countAfter, countAttempt } from './account.ts';
import { addAmounts, columns, noAmounts, slotColumns, sumOver, type Amounts } from './columns.ts';

/** The time of one attempt, including the wait before it. */
export interface AttemptRow extends Pick<AttemptHistory, 'ending' | 'site' | 'machine' | 'gpu' | 'speed'> {
  attempt: number;
  /** `cluster.proc`. */
  id: string;
  /** Whether it succeeded and its result is not suspicious. */
  good: boolean;
  cause: Cause | undefined;
  /** Milliseconds per column. */
  millis: Amounts;
}

/** `suspicious`: exit code 0, but it may have no result. */
export type RowOutcome = JobOutcome | 'suspicious';

/** What people read of it. */
export const outcomeWords = (outcome: string): string =>
  outcome === 'wrong-output' ? 'with a wrong output' : outcome;

/** The time of one job: its attempts, and the time after them. */
export interface JobRow {
  job: string;
  /** Its DAG node, if it has one. */
  node: string | undefined;
  /** Whether that node has other jobs. */
  siblings?: true;
  /** Who submitted it, if the log says so. */
  owner: string | undefined;
  /** Its log, if there are several. */
  log: string | undefined;
  /** Its values of the matrix, if it is a job of a run that has one. */
  parameters?: Parameters;
  name?: string;
  outcome: RowOutcome;
  cause: Cause | undefined;
  attempts: AttemptRow[];
  /** Milliseconds per column; they add up to the time between the job's first and last event. */
  millis: Amounts;
  totalMillis: number;
  /** From its first match to its success. */
  completionMillis: number | undefined;
}

/** Where the time of jobs went, in integer milliseconds, so that sums are exact. */
export interface Ledger {
  rows: JobRow[];
  sum: Amounts;
  totalMillis: number;
  /** Time on slots: neither queued nor idle nor held. */
  slotMillis: number;
  facts: LogFacts;
}

export async function ledger(events: AsyncIterable<LogEvent> | Iterable<LogEvent>): Promise<Ledger> {
  const fold = new LogFold();
  for await (const event of events) fold.add(event);
  return ledgerOf(fold.finish(), fold.facts);
}

/** `doubted` are the ids of suspicious successes. */
export function ledgerOf(
  jobs: readonly JobHistory[],
  facts: LogFacts,
  doubted: ReadonlySet<string> = new Set(),
): Ledger {
  const adder = new Adder();
  return sumOfRows(
    jobs.map((job) => jobRow(job, doubted.has(job.id), adder)),
    facts,
  );
}

export function sumOfRows(rows: JobRow[], facts: LogFacts): Ledger {
  const sum = noAmounts();
  for (const { millis } of rows) addAmounts(sum, millis);
  return { rows, sum, totalMillis: sumOver(sum, columns), slotMillis: sumOver(sum, slotColumns), facts };
}

function attemptRow(job: JobHistory, attempt: AttemptHistory, doubt: boolean, millis: Amounts): AttemptRow {
  const { number, id = job.id, ending, cause, site, machine, gpu, speed } = attempt;
  const row: AttemptRow = {
    attempt: number,
    id,
    ending,
    good: ending === 'success' && !doubt,
    cause,
    site,
    machine,
    gpu,
    millis,
  };
  // Not in the literal: one with a part that may be missing makes larger objects, and a log may have a million.
  if (speed !== undefined) row.speed = speed;
  return row;
}

function jobRow(job: JobHistory, doubt: boolean, adder: Adder): JobRow {
  const attempts = new Array<AttemptRow>(job.attempts.length);
  for (let index = 0; index < attempts.length; index++) {
    const attempt = job.attempts[index];
    if (attempt === undefined) continue;
    countAttempt(job, index, doubt, adder.count);
    attempts[index] = attemptRow(job, attempt, doubt, adder.take());
  }
  const [only] = attempts;
  // Most jobs have one attempt and nothing after it: sharing its amounts saves a tenth of the memory.
  const isAll = only !== undefined && attempts.length === 1 && job.after.length === 0;
  if (!isAll) countAfter(job, adder.count);
  const millis = isAll ? only.millis : adder.take();
  if (!isAll) for (const attempt of attempts) addAmounts(millis, attempt.millis);
  const row: JobRow = {
    job: job.id,
    node: job.node,
    owner: job.owner,
    log: job.log,
    outcome: doubt ? 'suspicious' : job.outcome,
    cause: job.cause,
    attempts,
    millis,
    totalMillis: sumOver(millis, columns),
    completionMillis: doubt ? undefined : completionOf(job),
  };
  if (job.siblings !== undefined) row.siblings = job.siblings;
  if (job.parameters !== undefined) row.parameters = job.parameters;
  if (job.name !== undefined) row.name = job.name;
  return row;
}

function completionOf({ outcome, attempts, from: born, to }: JobHistory): number | undefined {
  const from = attempts[0]?.spans[0]?.from;
  return outcome === 'success' && from !== undefined ? to - born - from : undefined;
}

/** A row per attempt, including the wait before it, and one per job for the time after: every second exactly once. */
export function* attemptCsv({ rows }: Ledger): Generator<string> {
  const names = [...new Set(rows.flatMap(({ parameters = {} }) => Object.keys(parameters)))];
  yield csvLine([...attemptFacts, ...columns, ...names.map((name) => `parameters.${name}`)]);
  for (const { job, node = '', owner = '', log = '', outcome, attempts, millis, parameters } of rows) {
    const values = names.map((name) => String(parameters?.[name] ?? ''));
    const rest = { ...millis };
    const seconds = (amounts: Amounts) => columns.map((column) => String(amounts[column] / 1000));
    for (const row of attempts) {
      for (const column of columns) rest[column] -= row.millis[column];
      const { attempt, id, ending, cause = '', site, machine, gpu, speed } = row;
      const known = [job, node, owner, outcome, String(attempt), id, ending, cause, site, machine, gpu];
      const speeds = speedFacts.map((name) => String(speed?.[name] ?? ''));
      yield csvLine([...known, ...speeds, log, ...seconds(row.millis), ...values]);
    }
    if (attempts.length === 0 || columns.some((column) => rest[column] !== 0))
      yield csvLine([
        ...[job, node, owner, outcome, ...attemptFacts.slice(4, -1).map(() => ''), log],
        ...[...seconds(rest), ...values],
      ]);
  }
}

const speedFacts = ['driver', ...speedNames] as const;

const attemptFacts = [
  'job',
  'node',
  'owner',
  'outcome',
  'attempt',
  'id',
  'ending',
  'cause',
  'site',
  'machine',
  'gpu',
  ...speedFacts,
  'log',
];
