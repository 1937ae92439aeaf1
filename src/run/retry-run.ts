import { stat } from 'node:fs/promises';
import path from 'node:path';
import { firstFew, mapLimited } from '@updraft/base';
import { Fault } from '../fault/fault.ts';
import { resultsFolder, runFiles } from '../job/layout.ts';
import type { Plan } from '../job/plan.ts';
import { openJournal } from '../journal/file.ts';
import type { JobState, RunState } from '../journal/state.ts';
import { isAdopted } from '../pool/htcondor.ts';
import type { Pool, ResourceChange } from '../pool/pool.ts';
import { type RoundContext, startRound, withRounds } from './rounds.ts';

/** The state of a job that has no valid result and is neither running nor queued. */
export type UnfinishedState = 'failed' | 'removed' | 'held' | 'missing';

export interface UnfinishedJob {
  job: JobState;
  lack: UnfinishedState;
}

/** Jobs whose results are checked at the same time. */
const concurrency = 32;

/**
 * The jobs of a run that can be retried. One that succeeded, but whose results are gone, is `missing`. Throws a Fault
 * for an adopted run: only its owner knows its results and how to submit it.
 */
export async function unfinishedJobs(runFolder: string, jobs: readonly JobState[]): Promise<UnfinishedJob[]> {
  if (await isAdopted(runFolder))
    throw new Fault(
      'usage',
      `${path.basename(runFolder)} comes from your own submit file, which decides what is retried`,
      {
        fix: 'release a held job with condor_release, or submit the file again with `updraft adopt FILE --submit`',
        about: runFolder,
      },
    );
  const lacks = await mapLimited(jobs, concurrency, (job) => unfinishedState(runFolder, job));
  return jobs.flatMap((job, index) => {
    const lack = lacks[index];
    return lack === undefined ? [] : [{ job, lack }];
  });
}

async function unfinishedState(runFolder: string, job: JobState): Promise<UnfinishedState | undefined> {
  if (job.status !== 'ended') return undefined;
  if (job.held !== undefined) return 'held';
  if (job.outcome === 'stopped') return 'removed';
  if (job.outcome !== 'success') return 'failed';
  return (await hasResults(runFolder, job)) ? undefined : 'missing';
}

/** Whether all returned outputs are there and have their size. */
async function hasResults(runFolder: string, { id, attempts }: JobState): Promise<boolean> {
  const folder = resultsFolder(runFolder, id);
  if ((await stat(folder).catch(() => undefined)) === undefined) return false;
  for (const output of attempts.at(-1)?.agent?.outputs ?? []) {
    const found = await stat(path.join(folder, output.path)).catch(() => undefined);
    if (found?.size !== output.bytes) return false;
  }
  return true;
}

export interface RetryRequest {
  /** Ids; those with a valid result by then are left alone. */
  jobs: readonly string[];
  change: ResourceChange;
  /** The plan of the job file as it is now, if it replaces what the run has, and what is new in it. */
  corrected?: { now: Plan; changed: readonly string[] } | undefined;
}

export interface RetryResult {
  /** Submitted in a new round. */
  queued: string[];
  /** Held by the scheduler, and released. */
  released: string[];
}

/** Retries jobs of a run in its own folder: attempts keep counting, and checkpoints are used. */
export async function retryRun(
  runFolder: string,
  pool: Pool,
  { jobs, change, corrected }: RetryRequest,
  context: RoundContext,
): Promise<RetryResult> {
  return await withRounds(runFolder, pool, context, async (state) => {
    const lacking = await unfinishedJobs(runFolder, requestedJobs(state, jobs));
    const ids = lacking.map(({ job }) => job.id);
    const held = lacking.filter(({ lack }) => lack === 'held').map(({ job }) => job.id);
    // A held job will get the files of its submission: other files need a new one.
    const canRelease = corrected === undefined && held.length > 0;
    const left = canRelease ? await pool.release(runFolder, held, change) : held;
    if (left.length > 0) await pool.stop(runFolder, left);
    const released = new Set(held).difference(new Set(left));
    if (released.size > 0) await recordReleased(runFolder, released, context);
    const queued = ids.filter((id) => !released.has(id));
    const { now, changed = [] } = corrected ?? {};
    const how = now === undefined ? '' : ` --with-new-files: ${firstFew(changed, 8) || 'nothing'} changed`;
    const why = `asked for with updraft retry${how}`;
    if (queued.length > 0)
      await startRound(runFolder, state, pool, { jobs: queued, why, change, now }, context.clock);
    return { queued, released: [...released] };
  });
}

/** The scheduler's log has it too; whoever waits for the run's journal to grow learns of it here. */
async function recordReleased(
  runFolder: string,
  jobs: Iterable<string>,
  { clock }: RoundContext,
): Promise<void> {
  await using journal = await openJournal(path.join(runFolder, runFiles.journal), clock);
  await journal.append(
    ...Array.from(jobs, (job) => ({ kind: 'job-released' as const, job, why: 'updraft retry' })),
  );
}

function requestedJobs({ jobs }: RunState, ids: readonly string[]): JobState[] {
  const meant = new Set(ids);
  return jobs.filter(({ id }) => meant.has(id));
}
