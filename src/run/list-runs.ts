import { fileSize, mapLimited, readJsonFile } from '@updraft/base';
import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { replaceFile } from '@updraft/base/disk';
import { runFiles } from '../job/layout.ts';
import { emptyTally } from '../journal/fold.ts';
import { isOpen, type RunState } from '../journal/state.ts';
import { readJournalEnds } from '../journal/tail.ts';
import { poolKind } from '../pool/open-pool.ts';
import { readPlan } from '../pool/read-plan.ts';
import { readRunOutline } from './run-states.ts';

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
  const well = await endedWell(folder);
  if (well !== undefined) return { ...well, isRehearsal: await isRehearsal(folder) };
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

/** Most runs of a supervisor end with a success of every job: the ends of their journals say so. */
async function endedWell(folder: string): Promise<Omit<RunSummary, 'isRehearsal'> | undefined> {
  const { first, last } = await readJournalEnds(path.join(folder, runFiles.journal));
  const [ended, before] = [last.at(-1), last.at(-2)];
  if (first?.kind !== 'run-created' || ended?.kind !== 'run-ended' || ended.failed > 0) return undefined;
  const { t: createdAt, pool, jobs } = first;
  const tally = { ...emptyTally(jobs.length), success: jobs.length };
  const endedAt = before?.kind === 'job-ended' ? before.t : ended.t;
  return { run: path.basename(folder), folder, pool, createdAt, endedAt, held: 0, tally };
}

interface Kept {
  key: string;
  pool: string;
  summary: Omit<RunSummary, 'folder'>;
}

async function keyOf(folder: string, pool: string, journalBytes: number): Promise<string> {
  const log = poolKind(pool)?.eventLog;
  const logBytes = log === undefined ? 0 : ((await fileSize(path.join(folder, log))) ?? 0);
  return `1 ${journalBytes} ${logBytes}`;
}

const readSummary = (folder: string): Promise<Kept | undefined> =>
  readJsonFile<Kept>(path.join(folder, runFiles.summary));

/** A folder that cannot be written to is read again next time. */
async function writeSummary(folder: string, kept: Kept): Promise<void> {
  await replaceFile(path.join(folder, runFiles.summary), JSON.stringify(kept)).catch(() => undefined);
}

function summaryOf(
  { createdAt, endedAt, pool, jobs, tally }: RunState,
  folder: string,
): Omit<RunSummary, 'isRehearsal'> {
  return {
    run: path.basename(folder),
    folder,
    pool,
    ...(createdAt === undefined ? {} : { createdAt }),
    ...(endedAt === undefined ? {} : { endedAt }),
    held: jobs.filter(({ held }) => held !== undefined).length,
    tally,
  };
}
