import path from 'node:path';
import {
  type Clock,
  defined,
  printable,
  fileSize,
  mapLimited,
  readJsonFile,
  counted,
  type Env,
  errorReason,
  shellQuote,
} from '@updraft/base';
import { Fault, usageFault } from '@updraft/account/fault';
import { jobNames, withJsonNumbers } from '@updraft/account/parameters';
import { jobId, runFiles, attemptFiles, attemptFolder, keptFolder } from '@updraft/account/run-folder';
import {
  type EntrySource,
  followRun,
  type JobState,
  loadOutline,
  loadRun,
  type PlannedFor,
  type PlannedJob,
  readJournalEnds,
  type RunState,
  isOpen,
  openJournal,
} from '@updraft/account/journal';
import { readdir, stat, lstat, rename } from 'node:fs/promises';
import { replaceFile, removeTree } from '@updraft/base/disk';
import { combinationNumbers } from '../job/matrix.ts';
import type { Plan } from '../job/plan.ts';
import { variantsOf } from '../job/variants.ts';
import { poolKind } from '../pool/open-pool.ts';
import { readPlan } from '../pool/pool.ts';
import type { WorkOrder } from '../job/job.ts';
import { deleteSecrets } from '../pool/stored-secrets.ts';
import { draftName } from './create-run.ts';

/** The state of a run on any pool, from its folder alone. */
export const readRunState = async (runFolder: string): Promise<RunState> =>
  loadRun(runFolder, await sourcesOf(runFolder));

/** The same without what its attempts report themselves: much cheaper for a run of many jobs. */
export const readRunOutline = async (runFolder: string): Promise<RunState> =>
  loadOutline(runFolder, { source: await poolSource(runFolder) });

/** The states of a run on any pool, from now until it ends. */
export async function* followRunStates(
  runFolder: string,
  options: { clock: Clock; signal?: AbortSignal },
): AsyncGenerator<RunState, void, undefined> {
  yield* followRun(runFolder, { ...options, ...(await sourcesOf(runFolder)) });
}

async function sourcesOf(
  runFolder: string,
): Promise<{ source: EntrySource | undefined; plannedFor: PlannedFor }> {
  // A copy of a run may lack its plan.
  const plan = await readPlan(runFolder).catch(() => undefined);
  const planned = plan && plannedJobs(plan);
  return { source: await poolSource(runFolder), plannedFor: (job) => planned?.get(job) };
}

/** What the plan knows of each job; values of the matrix and names only if not all jobs are alike. */
function plannedJobs(plan: Plan): Map<string, PlannedJob> {
  const byId = new Map<string, PlannedJob>();
  const { run, search } = plan.spec;
  const directions = search === undefined ? plan.spec.results : directionsOf(plan.spec, search);
  const names = jobNames(plan.jobs);
  const known = plan.jobs.filter(({ parameters }) => directions ?? Object.keys(parameters).length > 0);
  const cells = withJsonNumbers(known.map(({ parameters }) => parameters));
  const cellOf = new Map(known.map(({ id }, at) => [id, cells[at]]));
  const rankOf = combinationNumbers(run.matrix);
  for (const { spec, data, jobs } of variantsOf(plan)) {
    const { memoryBytes, cpus, gpus } = spec.resources;
    const method = [...new Set(data.map((source) => source.method))].join('+');
    for (const { id, parameters } of jobs) {
      const values = defined({ parameters: cellOf.get(id), name: names.get(id), directions, cpus, gpus });
      byId.set(id, { ...values, memoryBytes, method, rank: rankOf(parameters) ?? Infinity });
    }
  }
  return byId;
}

/** What [search] says of its metric counts beside [results]. */
function directionsOf({ results = {} }: Plan['spec'], search: NonNullable<Plan['spec']['search']>) {
  const { direction, metric } = search;
  if (direction === undefined) return results;
  const { smallerIsBetter = [], largerIsBetter = [] } = results;
  return direction === 'minimize'
    ? { ...results, smallerIsBetter: [...smallerIsBetter, metric] }
    : {
        smallerIsBetter: smallerIsBetter.filter((one) => one !== metric),
        largerIsBetter: [...largerIsBetter, metric],
      };
}

/** What the run's pool knows beyond the journals. */
async function poolSource(runFolder: string): Promise<EntrySource | undefined> {
  const name = await poolOf(runFolder);
  return name === undefined ? undefined : await poolKind(name)?.source(runFolder);
}

/** A journal may have lost its beginning, and a copy of a run its plan. */
async function poolOf(runFolder: string): Promise<string | undefined> {
  const { first } = await readJournalEnds(path.join(runFolder, runFiles.journal)).catch(() => ({
    first: undefined,
  }));
  if (first?.kind === 'run-created') return first.pool;
  const plan = await readPlan(runFolder).catch(() => undefined);
  return plan?.spec.run.pool;
}

/** The job of a run that a user names, as `0003` or `3`. */
export function findJob({ run, jobs }: RunState, word: string): JobState {
  const id = /^\d+$/.test(word) ? jobId(Number(word)) : word;
  const found = jobs.find((job) => job.id === word || job.id === id);
  if (found !== undefined) return found;
  throw usageFault(
    `${printable(run)} has no job "${printable(word)}"`,
    jobs.length === 1
      ? `use ${jobs[0]?.id ?? ''}, its only job`
      : `use one of its jobs, ${jobs[0]?.id ?? ''} to ${jobs.at(-1)?.id ?? ''}`,
    word,
  );
}

/**
 * Records in the journal that some jobs (all if none is named) shall stop. Returns the jobs that have to end; asking
 * twice changes nothing.
 */
export async function requestStop(
  runFolder: string,
  state: RunState,
  jobs: readonly string[],
  clock: Clock,
): Promise<string[]> {
  const named = new Set(jobs.map((word) => findJob(state, word)));
  const meant = state.jobs.filter((job) => isOpen(job) && (named.size === 0 || named.has(job)));
  if (meant.some(({ stopRequested }) => !stopRequested)) {
    await using journal = await openJournal(path.join(runFolder, runFiles.journal), clock);
    const asked = jobs.length === 0 ? 'all' : meant.map(({ id }) => id);
    await journal.append({ kind: 'stop-requested', jobs: asked });
  }
  return meant.map(({ id }) => id);
}

/** Rehearsals are runs whose names begin with this. */
export const rehearsalPrefix = 'rehearsal-';

/** The name decides for most runs; a job file may have such a name, too, so the plan is read to be sure. */
export const isRehearsal = async (runFolder: string): Promise<boolean> =>
  path.basename(runFolder).startsWith(rehearsalPrefix) &&
  (await readPlan(runFolder).catch(() => undefined))?.isRehearsal === true;

/** A run in a list. */
export interface RunSummary extends Pick<RunState, 'run' | 'pool' | 'createdAt' | 'endedAt' | 'tally'> {
  folder: string;
  /** Jobs that the pool holds; they are part of other counts, too. */
  held: number;
  isRehearsal: boolean;
  /** Its supervisor died, so nothing new starts. */
  isUnsupervised?: true;
}

const maxParallel = 8;

/** The runs of a `runs/` folder, the latest first. Anything else in it is left out. */
export async function listRuns(runsFolder: string): Promise<RunSummary[]> {
  const names = (await readdir(runsFolder)).filter((name) => !name.startsWith('.'));
  const found = await mapLimited(names, maxParallel, (name) =>
    summarize(path.join(runsFolder, name)).catch(() => undefined),
  );
  const created = ({ createdAt = '' }: RunSummary): string => createdAt;
  return found
    .filter((run) => run !== undefined)
    .sort((a, b) => created(b).localeCompare(created(a)) || a.run.localeCompare(b.run));
}

/** An ended run changes only if its journal or its scheduler's log grows: until then its summary is valid. */
async function summarize(folder: string): Promise<RunSummary> {
  const journal = await stat(path.join(folder, runFiles.journal));
  const kept = await readSummary(folder);
  if (kept !== undefined && kept.key === (await keyOf(folder, kept.pool, journal.size)))
    return { ...kept.summary, folder };
  const state = await readRunOutline(folder);
  const summary = { ...summaryOf(state, folder), isRehearsal: await isRehearsal(folder) };
  if (state.endedAt !== undefined && state.jobs.every((job) => !isOpen(job) || job.isKeptBack))
    await writeSummary(folder, {
      key: await keyOf(folder, state.pool, journal.size),
      pool: state.pool,
      summary,
    });
  if (state.endedAt !== undefined) return summary;
  const supervisor = await poolKind(state.pool)?.supervisor?.(folder);
  return supervisor?.state === 'died' ? { ...summary, isUnsupervised: true } : summary;
}

interface Kept {
  key: string;
  pool: string;
  summary: Omit<RunSummary, 'folder'>;
}

async function keyOf(folder: string, pool: string, journalBytes: number): Promise<string> {
  const log = poolKind(pool)?.eventLog;
  const logBytes = log === undefined ? 0 : ((await fileSize(path.join(folder, log))) ?? 0);
  return `2 ${journalBytes} ${logBytes}`;
}

const readSummary = (folder: string): Promise<Kept | undefined> =>
  readJsonFile<Kept>(path.join(folder, runFiles.summary));

/** A folder that cannot be written to is read again next time. */
async function writeSummary(folder: string, kept: Kept): Promise<void> {
  await replaceFile(path.join(folder, runFiles.summary), JSON.stringify(kept)).catch(() => undefined);
}

function summaryOf(
  { createdAt, endedAt, pool, tally }: RunState,
  folder: string,
): Omit<RunSummary, 'isRehearsal'> {
  return {
    run: path.basename(folder),
    folder,
    pool,
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
    held: tally.held,
    tally,
  };
}

/** Throws a Fault unless the folder is a run of its own that has ended, so that it can be removed. */
export async function assertRemovable(folder: string): Promise<void> {
  const run = path.basename(folder);
  if (!(await lstat(folder)).isDirectory())
    throw usageFault(
      `${folder} is a link: it is not followed`,
      'remove the link with `rm`, or name the run in its own folder',
      folder,
    );
  const { jobs, pool } = await readRunOutline(folder);
  const open = jobs.filter((job) => isOpen(job) && !job.isKeptBack).length;
  const supervisor = await poolKind(pool)?.supervisor?.(folder);
  if (open === 0 && supervisor?.state !== 'running') return;
  throw usageFault(
    `${run} has not ended: ${counted(open, 'job')} waiting, running or held`,
    `updraft stop ${shellQuote(run)}`,
    folder,
  );
}

/** Removes a run. It disappears at once; if that is interrupted, the next command removes the rest. */
export async function removeRun(folder: string, env: Env): Promise<void> {
  const run = path.basename(folder);
  const doomed = path.join(path.dirname(folder), draftName(run));
  const kept = await keptFolders(folder);
  await rename(folder, doomed);
  for (const one of kept) await removeTree(one);
  await deleteSecrets(run, env);
  await removeTree(doomed).catch((cause: unknown) => {
    throw new Fault('file-invalid', `${run} is not removed completely: ${errorReason(cause)}`, {
      fix: `correct that; the next \`updraft run\` removes what is left in ${doomed}`,
      about: doomed,
      cause,
    });
  });
}

/** The results of the run that did not fit into its folder, on this machine. */
async function keptFolders(folder: string): Promise<string[]> {
  const { jobs } = await readRunOutline(folder);
  const full = jobs.flatMap(({ id, attempts }) => {
    const last = attempts.findLast(({ fault }) => fault?.kind === 'run-folder-full');
    return last === undefined ? [] : [attemptFolder(folder, id, last.number)];
  });
  const orders = await Promise.all(
    full.map((attempt) => readJsonFile<WorkOrder>(path.join(attempt, attemptFiles.order))),
  );
  return orders.flatMap((order) => (order?.run === path.basename(folder) ? [keptFolder(order)] : []));
}
