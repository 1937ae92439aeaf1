import { defined } from '@updraft/base';
import type { Cause } from '../codes/causes.ts';
import type { AttemptHistory, Activity, JobHistory } from '../history/history.ts';
import { eachSpeed, type SpeedName, speedNames } from '../history/speeds.ts';
import { csvLine } from '@updraft/view/document';
import type { JobRow, RowOutcome } from './ledger.ts';
import { lastRung, stoppedEarly } from '../journal/describe-attempt.ts';
import type { JobName } from './job-names.ts';
import { secondsOf, siteNames, unknownSite } from './sites.ts';

/** One job in one row. Times are seconds; null means that it never happened. */
export interface JobTableRow extends JobName, Record<SpeedName, number | null> {
  outcome: RowOutcome;
  /** Whether there is a valid result; null if unknown. */
  valid: boolean | null;
  /** The sites of its attempts, in order, without consecutive repeats. */
  sites: string[];
  /** Execution in the last attempt, including waits for data. */
  executeSeconds: number | null;
  /** The same in all attempts. */
  executeTotalSeconds: number | null;
  /** Slot time of the last attempt. */
  slotBusySeconds: number | null;
  /** From the start of the first input transfer to the end of the last, including everything between. */
  transferTotalSeconds: number | null;
  /** Input transfer of the last attempt that had one. */
  lastTransferSeconds: number | null;
  stalls: number;
  holds: number;
  evictions: number;
  attempts: number;
  /** Of the last attempt, as the speeds are: the models of its GPUs. */
  gpu: string | null;
  /** Why there is no valid result. */
  cause: Cause | null;
  /** For a run: the job's matrix values, and what its training reported last. */
  parameters: NonNullable<JobHistory['parameters']>;
  loss: number | null;
  accuracy: number | null;
  /** Of a search: the last rung that the trial has reached, and whether it was stopped there. */
  rung?: number;
  stoppedEarly?: true;
  /** All that it measured, loss and accuracy included: the last values, and the best. */
  metrics: NonNullable<JobHistory['metrics']>;
  best: NonNullable<JobHistory['best']>;
}

export function jobTable(jobs: readonly JobHistory[], rows: readonly JobRow[]): JobTableRow[] {
  const siteOf = siteNames(jobs);
  return jobs.map((job, index) => tableRow(job, rows[index]?.outcome ?? 'waiting', siteOf));
}

function tableRow(
  job: JobHistory,
  outcome: RowOutcome,
  siteOf: (attempt: AttemptHistory) => string,
): JobTableRow {
  const { attempts, id, node = null, log = null, cause = null, holds = 0, metrics = {} } = job;
  const last = attempts.at(-1);
  const visited = attempts.map(siteOf).filter((site) => site !== unknownSite);
  const inputs = attempts.flatMap(({ spans }) => spans.filter(isInput));
  const [first, end] = [inputs[0], inputs.at(-1)];
  const lastTransfer = attempts.findLast(({ spans }) => spans.some(isInput));
  const seconds = (attempt: AttemptHistory | undefined, ...wanted: [Activity, Activity]) =>
    attempt?.spans.some(({ doing }) => wanted.includes(doing)) === true
      ? secondsOf(attempt, ...wanted)
      : null;
  return {
    job: id,
    node,
    log,
    outcome,
    valid: validity(outcome),
    sites: visited.filter((site, index) => site !== visited[index - 1]),
    executeSeconds: seconds(last, 'training', 'starved'),
    executeTotalSeconds: attempts.reduce<number | null>((sum, attempt) => {
      const own = seconds(attempt, 'training', 'starved');
      return own === null ? sum : (sum ?? 0) + own;
    }, null),
    slotBusySeconds: last === undefined ? null : secondsOf(last),
    transferTotalSeconds: first === undefined || end === undefined ? null : (end.to - first.from) / 1000,
    lastTransferSeconds: seconds(lastTransfer, 'fetching', 'stalled'),
    stalls: attempts.reduce((sum, { stalls = 0 }) => sum + stalls, 0),
    holds,
    evictions: attempts.filter(({ ending }) => ending === 'evicted').length,
    attempts: attempts.length,
    gpu: last?.gpu || null,
    ...eachSpeed((name) => last?.speed?.[name] ?? null),
    cause,
    parameters: job.parameters ?? {},
    ...defined({ siblings: job.siblings, name: job.name, ...rungOf(job) }),
    loss: metrics['loss'] ?? null,
    accuracy: metrics['accuracy'] ?? null,
    metrics,
    best: job.best ?? {},
  };
}

const rungOf = (job: JobHistory): Pick<JobTableRow, 'rung' | 'stoppedEarly'> =>
  defined({
    rung: lastRung(job)?.rung,
    stoppedEarly: stoppedEarly(job) && (true as const),
  });

const isInput = ({ doing }: { doing: Activity }): boolean => doing === 'fetching' || doing === 'stalled';

/** Whether such an outcome is a valid result; null if that is not decided. */
export function validity(outcome: RowOutcome): boolean | null {
  if (outcome === 'suspicious' || outcome === 'running' || outcome === 'waiting') return null;
  return outcome === 'success';
}

/** A header with the keys of the JSON and one column per parameter, then a row per job. */
export function* jobCsv(rows: readonly JobTableRow[]): Generator<string> {
  const tables = (['parameters', 'metrics', 'best'] as const).flatMap((table) =>
    valueNames(rows, table).map((name) => ({ table, name })),
  );
  yield csvLine([...keys, ...tables.map(({ table, name }) => `${table}.${name}`)]);
  for (const row of rows) {
    const values = keys.map((key) => row[key]);
    yield csvLine([
      ...values.map((value) => (Array.isArray(value) ? value.join(';') : String(value ?? ''))),
      ...tables.map(({ table, name }) => String(row[table][name] ?? '')),
    ]);
  }
}

/** The names that any row has in a table of values, in the order of their first appearance. */
export const valueNames = (
  rows: readonly JobTableRow[],
  table: 'parameters' | 'metrics' | 'best',
): string[] => [...new Set(rows.flatMap((row) => Object.keys(row[table])))];

const keys = [
  'job',
  'node',
  'outcome',
  'valid',
  'sites',
  'executeSeconds',
  'slotBusySeconds',
  'transferTotalSeconds',
  'lastTransferSeconds',
  'stalls',
  'holds',
  'evictions',
  'attempts',
  'gpu',
  ...speedNames,
  'cause',
  'loss',
  'accuracy',
  'log',
  'executeTotalSeconds',
] as const satisfies readonly Exclude<keyof JobTableRow, 'parameters' | 'metrics' | 'best'>[];
