import type { Cause } from '../codes/causes.ts';
import type { AttemptHistory, JobHistory } from '../history/history.ts';
import { lossIn, type Amounts } from './columns.ts';
import type { AttemptRow, JobRow } from './ledger.ts';

/** Jobs, and a row of the ledger for each. */
export interface CountedJobs {
  jobs: readonly JobHistory[];
  rows: readonly JobRow[];
}

export function forEachAttempt(
  { jobs, rows }: CountedJobs,
  visit: (job: JobHistory, attempt: AttemptHistory, row: AttemptRow) => void,
): void {
  jobs.forEach((job, index) => {
    // A loop, because a function for each of many jobs takes memory.
    for (let at = 0; at < job.attempts.length; at++) {
      const attempt = job.attempts[at];
      const row = rows[index]?.attempts[at];
      if (attempt !== undefined && row !== undefined) visit(job, attempt, row);
    }
  });
}

/** The slot time of an attempt, or of a job, that led to nothing. */
export const lostMillis = ({ millis }: { millis: Amounts }): number => lossIn(millis);

/** Saved work that was lost with its job was lost to what ended the job. */
export function causeOfLoss(job: JobHistory, { cause, ending, millis }: AttemptRow): Cause | undefined {
  if (millis.lostToRemoval > 0 && ending !== 'removed') return job.cause ?? cause;
  if (cause !== undefined) return cause;
  if (millis.retriedTransfer > 0) return 'transfer-stalled';
  return millis.lostToEviction > 0 ? 'checkpoint-failed' : undefined;
}

/** Attempts with something in common, and what they lost. */
interface Loss {
  attempts: number;
  good: number;
  millis: number;
}

/** Losses by name; a log may have a million attempts, so nothing is kept of each. */
export class LossTally<Name> {
  readonly losses = new Map<Name, Loss>();

  add(name: Name | undefined, row: AttemptRow): void {
    if (name === undefined) return;
    let loss = this.losses.get(name);
    if (loss === undefined) this.losses.set(name, (loss = { attempts: 0, good: 0, millis: 0 }));
    loss.attempts += 1;
    loss.millis += lostMillis(row);
    if (row.good) loss.good += 1;
  }

  /** The first of the largest; of those that cost nothing, the most frequent. */
  worst(): (Loss & { name: Name }) | undefined {
    let worst: (Loss & { name: Name }) | undefined;
    for (const [name, loss] of this.losses)
      if (
        worst === undefined ||
        loss.millis > worst.millis ||
        (loss.millis === worst.millis && loss.attempts > worst.attempts)
      )
        worst = { name, ...loss };
    return worst;
  }
}

/** What was lost to each cause. */
export function lossByCause(counted: CountedJobs): LossTally<Cause> {
  const causes = new LossTally<Cause>();
  forEachAttempt(counted, (job, _, row) => causes.add(causeOfLoss(job, row), row));
  return causes;
}
