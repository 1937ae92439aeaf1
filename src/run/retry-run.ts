import { stat } from 'node:fs/promises';
import path from 'node:path';
import { mapLimited } from '../base/map-limited.ts';
import { Fault } from '../fault/fault.ts';
import { resultsFolder, runFiles } from '../job/layout.ts';
import { FileProblem, listFiles } from '../job/list-files.ts';
import type { Plan, PlannedFile } from '../job/plan.ts';
import { openJournal } from '../journal/file.ts';
import type { JobState, RunState } from '../journal/state.ts';
import { isAdopted } from '../pool/htcondor.ts';
import type { Pool, ResourceChange } from '../pool/pool.ts';
import { type RoundContext, startRound, withRounds } from './rounds.ts';

/** How a job stands that has no valid result and that nobody works on. */
export type UnfinishedState = 'failed' | 'removed' | 'held' | 'missing';

export interface UnfinishedJob {
  job: JobState;
  lack: UnfinishedState;
}

/** Results looked at at once. */
const concurrency = 32;

/**
 * The jobs of a run that can be tried again. One that succeeded, but whose results are gone, is `missing`. Throws a
 * Fault for an adopted run: what its jobs bring home, and how they are submitted, is its owner's alone.
 */
export async function unfinishedJobs(runFolder: string, jobs: readonly JobState[]): Promise<UnfinishedJob[]> {
  if (await isAdopted(runFolder))
    throw new Fault(
      'usage',
      `${path.basename(runFolder)} was made of a submit file, which says what is tried again`,
      {
        fix: 'condor_release a job that is held; `updraft adopt FILE --submit` submits the file once more',
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

/** Whether all outputs that were handed back are there, and of the size they had. */
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
  /** Ids; those that do not lack a result by then are left alone. */
  jobs: readonly string[];
  change: ResourceChange;
  newFiles?: readonly PlannedFile[] | undefined;
}

export interface RetryResult {
  /** Handed to the pool in a new round. */
  queued: string[];
  /** Held by the scheduler, and released by it. */
  released: string[];
}

/** Has jobs of a run tried again, in its own folder: attempts are counted on, and checkpoints are used. */
export async function retryRun(
  runFolder: string,
  pool: Pool,
  { jobs, change, newFiles }: RetryRequest,
  context: RoundContext,
): Promise<RetryResult> {
  return await withRounds(runFolder, pool, context, async (state) => {
    const lacking = await unfinishedJobs(runFolder, requestedJobs(state, jobs));
    const ids = lacking.map(({ job }) => job.id);
    const held = lacking.filter(({ lack }) => lack === 'held').map(({ job }) => job.id);
    // What a held job will be sent is settled: other files need another submission.
    const canRelease = newFiles === undefined && held.length > 0;
    const left = canRelease ? await pool.release(runFolder, held, change) : held;
    if (left.length > 0) await pool.stop(runFolder, left);
    const released = new Set(held).difference(new Set(left));
    if (released.size > 0) await recordReleased(runFolder, released, context);
    const queued = ids.filter((id) => !released.has(id));
    const why = 'asked for with updraft retry';
    if (queued.length > 0)
      await startRound(runFolder, state, pool, { jobs: queued, why, change, newFiles }, context.clock);
    return { queued, released: [...released] };
  });
}

/** The scheduler's log tells it too; whoever waits for the run's journal to grow learns of it here. */
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

/** The files that a plan sends as they are in the user's folder by now. Throws a Fault when one is gone. */
export async function currentFiles({ spec, folder, files }: Plan): Promise<PlannedFile[]> {
  const named = spec.train.files;
  const isNamed = ({ path }: PlannedFile): boolean =>
    named.some((entry) => path === entry || `${path}/`.startsWith(entry.endsWith('/') ? entry : `${entry}/`));
  const others = files.filter((file) => !isNamed(file)).map(({ path }) => path);
  const found = new Map<string, PlannedFile>();
  for (const entry of [...named, ...others])
    for (const file of await list(folder, entry)) found.set(file.path, file);
  return [...found.values()].sort((a, b) => (a.path < b.path ? -1 : 1));
}

async function list(folder: string, entry: string): Promise<PlannedFile[]> {
  try {
    return await listFiles(folder, entry);
  } catch (error) {
    if (!(error instanceof FileProblem)) throw error;
    throw new Fault('file-invalid', `${folder}: ${error.message}`, {
      fix: 'put it back, or try again with the copies of the run: without --with-new-files',
      about: entry,
    });
  }
}

/** The paths of files that are not the same in both. */
export function changedFiles(before: readonly PlannedFile[], after: readonly PlannedFile[]): string[] {
  const hashes = new Map(before.map(({ path, sha256 }) => [path, sha256]));
  const changed = after.filter(({ path, sha256 }) => hashes.get(path) !== sha256).map(({ path }) => path);
  const left = new Set(after.map(({ path }) => path));
  return [...changed, ...before.map(({ path }) => path).filter((path) => !left.has(path))];
}
