import { mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { defined } from '../base/defined.ts';
import type { Clock } from '../base/clock.ts';
import { withLease } from '../base/lease.ts';
import { identifyProcess } from '../base/process-identity.ts';
import { Fault } from '../fault/fault.ts';
import { roundFolder, runFiles } from '../job/layout.ts';
import type { Plan, PlannedFile } from '../job/plan.ts';
import { joinVariants, variantsOf } from '../job/variants.ts';
import { openJournal } from '../journal/file.ts';
import type { RunState } from '../journal/state.ts';
import { readJournal } from '../journal/tail.ts';
import type { Pool, ResourceChange } from '../pool/pool.ts';
import { roundPlan } from '../pool/read-plan.ts';
import { copyFiles, writePlan, writeRendered } from './create-run.ts';
import { readRunState } from './run-states.ts';

export interface RoundStart {
  jobs: readonly string[];
  why: string;
  change?: ResourceChange;
  /** The user's present files, to be used instead of the run's copies. */
  newFiles?: NewFiles | undefined;
}

/** The user's files as they are now, and the entries of `files` that name them. */
export interface NewFiles {
  named: string[];
  files: PlannedFile[];
}

/**
 * Submits jobs of a run once more: what they need is complete in the round's folder before the journal names the
 * round, and the pool submits it after that. Call it from one process at a time (`withRounds`).
 */
export async function startRound(
  runFolder: string,
  state: RunState,
  pool: Pool,
  { jobs, why, change = {}, newFiles }: RoundStart,
  clock: Clock,
): Promise<void> {
  const number = state.rounds + 1;
  const folder = roundFolder(runFolder, number);
  const draft = path.join(path.dirname(folder), `.${number}.draft`);
  // Left by a process that died before the journal named the round.
  for (const left of [folder, draft]) await rm(left, { recursive: true, force: true });
  await mkdir(draft, { recursive: true, mode: 0o700 });
  const last = await roundPlan(runFolder, number - 1);
  const plan = joinVariants(
    last,
    variantsOf(last).map((one) => changed(one, change)),
  );
  if (newFiles !== undefined) {
    plan.files = newFiles.files;
    for (const { train } of [plan.spec, ...plan.jobs]) train.files = newFiles.named;
    plan.filesIn = path.posix.join(runFiles.rounds, String(number), runFiles.files);
    await copyFiles(plan, path.join(draft, runFiles.files));
  }
  const meant = new Set(jobs);
  const before = state.jobs.filter(({ id }) => meant.has(id));
  const attemptsBefore = new Map(before.map(({ id, attempts }) => [id, attempts.at(-1)?.attempt ?? 0]));
  const ordered = before.map(({ id }) => id);
  const { files } = await pool.render(plan, state.run, { number, jobs: ordered, attemptsBefore });
  await writeRendered(draft, ownFiles(files, number));
  await writePlan(path.join(draft, runFiles.plan), plan);
  await rename(draft, folder);
  await using journal = await openJournal(path.join(runFolder, runFiles.journal), clock);
  await journal.append({ kind: 'round-started', round: number, jobs: ordered, why });
  await pool.submit(runFolder);
}

/** The round's own files, by path in its folder; the others exist since the run was created. */
function ownFiles(files: Record<string, string>, round: number): Record<string, string> {
  const folder = `${path.posix.join(runFiles.rounds, String(round))}/`;
  const own = Object.entries(files).filter(([name]) => name.startsWith(folder));
  return Object.fromEntries(own.map(([name, text]) => [name.slice(folder.length), text]));
}

function changed(plan: Plan, { memoryBytes, diskBytes, timeSeconds }: ResourceChange): Plan {
  const resources = { ...plan.spec.resources, ...defined({ memoryBytes, diskBytes, timeSeconds }) };
  const disk = diskBytes === undefined ? plan.disk : { bytes: diskBytes, why: 'requested at a retry' };
  return { ...plan, spec: { ...plan.spec, resources }, disk };
}

/** What starting rounds needs. */
export interface RoundContext {
  clock: Clock;
  pid: number;
}

/**
 * Runs `action` with the run's state while no other process starts a round. A round that is in the journal but was not
 * submitted, because its process died, is submitted first: no job is ever in two rounds.
 */
export async function withRounds<T>(
  runFolder: string,
  pool: Pool,
  { clock, pid }: RoundContext,
  action: (state: RunState) => Promise<T>,
): Promise<T> {
  const self = identifyProcess(pid);
  if (self === undefined) throw new Fault('pool-unreachable', '/proc cannot be read on this machine');
  return await withLease(path.join(runFolder, runFiles.rounds, 'starting'), self, clock, async () => {
    if (await isPending(runFolder)) await pool.submit(runFolder);
    return await action(await readRunState(runFolder));
  });
}

/** Whether the scheduler has earlier rounds, but not the latest. */
async function isPending(runFolder: string): Promise<boolean> {
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  const last = entries.findLast((entry) => entry.kind === 'round-started')?.round ?? 1;
  const taken = entries.filter((entry) => entry.kind === 'submitted').map(({ round = 1 }) => round);
  return taken.length > 0 && !taken.includes(last);
}
