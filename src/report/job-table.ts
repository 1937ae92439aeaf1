import type { Cause } from '../codes/causes.ts';
import type { AttemptHistory, Activity, JobHistory, Trained } from '../history/history.ts';
import { csvLine } from './attempt-csv.ts';
import type { JobRow, RowOutcome } from './ledger.ts';
import type { JobName } from './log-report.ts';
import { secondsOf, siteNames, unknownSite } from './sites.ts';

/** One job in one row, as studies of many jobs print it. Times are seconds; null is what never came to pass. */
export interface JobTableRow extends JobName {
  outcome: RowOutcome;
  /** Whether there is a valid result; null while nobody knows. */
  valid: boolean | null;
  /** Where its attempts were, in their order; the same one after another once. */
  sites: string[];
  /** Execution in the last attempt, also what of it waited for data. */
  executeSeconds: number | null;
  /** The last attempt, from the first to the last second on its slot. */
  slotBusySeconds: number | null;
  /** From the beginning of the first input transfer to the end of the last, with all that came between. */
  transferTotalSeconds: number | null;
  /** Input of the last attempt that moved any. */
  lastTransferSeconds: number | null;
  stalls: number;
  holds: number;
  evictions: number;
  attempts: number;
  /** Why there is no good end. */
  cause: Cause | null;
  /** Of a run: the job's values of the matrix, and what its training said last. */
  parameters: NonNullable<Trained['parameters']>;
  loss: number | null;
  accuracy: number | null;
}

export function jobTable(jobs: readonly JobHistory[], rows: readonly JobRow[]): JobTableRow[] {
  const siteOf = siteNames(jobs);
  return jobs.map((job, index) => tableRow(job, rows[index]?.outcome ?? job.outcome, siteOf));
}

function tableRow(
  job: JobHistory,
  outcome: RowOutcome,
  siteOf: (attempt: AttemptHistory) => string,
): JobTableRow {
  const { attempts, id, node = null, cause = null, holds = 0, trained } = job;
  const last = attempts.at(-1);
  const visited = attempts.map(siteOf).filter((site) => site !== unknownSite);
  const inputs = attempts.flatMap(({ spans }) => spans.filter(isInput));
  const [first, end] = [inputs[0], inputs.at(-1)];
  const lastTransfer = attempts.findLast(({ spans }) => spans.some(isInput));
  const seconds = (attempt: AttemptHistory | undefined, ...wanted: Activity[]) =>
    attempt?.spans.some(({ doing }) => wanted.includes(doing)) === true
      ? secondsOf(attempt, ...wanted)
      : null;
  return {
    job: id,
    node,
    outcome,
    valid: validity(outcome),
    sites: visited.filter((site, index) => site !== visited[index - 1]),
    executeSeconds: seconds(last, 'executing', 'starved'),
    slotBusySeconds:
      last === undefined ? null : last.spans.reduce((sum, { from, to }) => sum + to - from, 0) / 1000,
    transferTotalSeconds: first === undefined || end === undefined ? null : (end.to - first.from) / 1000,
    lastTransferSeconds: seconds(lastTransfer, 'input', 'stalled'),
    stalls: attempts.reduce((sum, { stalls = 0 }) => sum + stalls, 0),
    holds,
    evictions: attempts.filter(({ ending }) => ending === 'evicted').length,
    attempts: attempts.length,
    cause,
    parameters: trained?.parameters ?? {},
    loss: trained?.loss ?? null,
    accuracy: trained?.accuracy ?? null,
  };
}

const isInput = ({ doing }: { doing: Activity }): boolean => doing === 'input' || doing === 'stalled';

function validity(outcome: RowOutcome): boolean | null {
  if (outcome === 'suspicious' || outcome === 'running' || outcome === 'waiting') return null;
  return outcome === 'success';
}

/** A row per job, after a line of the keys that the JSON has too; each parameter has a column of its own. */
export function* jobCsv(rows: readonly JobTableRow[]): Generator<string> {
  const names = [...new Set(rows.flatMap(({ parameters }) => Object.keys(parameters)))];
  yield csvLine([...keys, ...names.map((name) => `parameters.${name}`)]);
  for (const row of rows) {
    const values = keys.map((key) => row[key]);
    yield csvLine([
      ...values.map((value) => (Array.isArray(value) ? value.join(';') : String(value ?? ''))),
      ...names.map((name) => String(row.parameters[name] ?? '')),
    ]);
  }
}

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
  'cause',
  'loss',
  'accuracy',
] as const satisfies readonly Exclude<keyof JobTableRow, 'parameters'>[];
