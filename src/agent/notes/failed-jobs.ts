import { Fault } from '../../fault/fault.ts';
import type { Order } from '../../job/job.ts';
import { noteFolders } from '../../job/layout.ts';
import { answerToKind } from '../../codes/answers.ts';
import type { SharedNotes } from './shared-notes.ts';

/** Ends the attempt at once when so many jobs have failed for good that the run is given up. */
export async function heedFailedJobs({ recovery, job }: Order, shared: SharedNotes): Promise<void> {
  const most = recovery?.failedJobs;
  if (most === undefined) return;
  const failed = (await shared.list(noteFolders.failed)).filter((name) => name !== job.id);
  if (failed.length < most) return;
  throw new Fault(
    'interrupted',
    `the run is given up: ${failed.slice(0, 5).join(', ')} failed for good, and [recovery] failed_jobs = ${most}`,
    { fix: 'see why with `updraft why`, then `updraft retry`' },
  );
}

/** Tells the others that this job has failed for good, where they must know. */
export async function tellFailedJob(order: Order, shared: SharedNotes, fault: Fault): Promise<void> {
  if (order.recovery?.failedJobs === undefined || !isForGood(order, order.recovery.attempts, fault)) return;
  await shared.put(`${noteFolders.failed}/${order.job.id}`, fault.kind);
}

function isForGood({ attempt, attemptsBefore = 0 }: Order, attempts: number, { kind }: Fault): boolean {
  if (kind === 'evicted' || kind === 'interrupted') return false;
  const made = attempt - attemptsBefore;
  return made >= attempts || answerToKind(kind, made) === 'never';
}
