import { hash } from 'node:crypto';
import { mkdir, rename } from 'node:fs/promises';
import path from 'node:path';
import { type Clock, defined, shellQuote, stableJson } from '@updraft/base';
import { identifyProcess, withLease } from '@updraft/base/processes';
import { removeTree } from '@updraft/base/disk';
import { Fault } from '../fault/fault.ts';
import { roundFolder, runFiles } from '../job/layout.ts';
import type { Plan, PlannedFile } from '../job/plan.ts';
import type { Train } from '../job/spec.ts';
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
  /** The plan of the job file as it is now: its training and files replace those of the run. */
  now?: Plan | undefined;
}

/** Submits jobs once more: the round's folder is complete before the journal names it. Call it in `withRounds`. */
export async function startRound(
  runFolder: string,
  state: RunState,
  pool: Pool,
  { jobs, why, change = {}, now }: RoundStart,
  clock: Clock,
): Promise<void> {
  const number = state.rounds + 1;
  const folder = roundFolder(runFolder, number);
  const draft = path.join(path.dirname(folder), `.${number}.draft`);
  // Left by a process that died before the journal named the round.
  for (const left of [folder, draft]) await removeTree(left);
  await mkdir(draft, { recursive: true, mode: 0o700 });
  const last = await roundPlan(runFolder, number - 1);
  const base = now === undefined ? last : correctedPlan(last, now);
  const plan = joinVariants(
    base,
    variantsOf(base).map((one) => changed(one, change)),
  );
  if (now !== undefined) {
    plan.filesIn = path.posix.join(runFiles.rounds, String(number), runFiles.files);
    await copyFiles(plan, path.join(draft, runFiles.files));
  }
  const meant = new Set(jobs);
  const before = state.jobs.filter(({ id }) => meant.has(id));
  const attemptsBefore = new Map(before.map(({ id, attempts }) => [id, attempts.at(-1)?.attempt ?? 0]));
  const ordered = before.map(({ id }) => id);
  const { files } = await pool.render(plan, state.run, { number, jobs: ordered, attemptsBefore });
  await writeRendered(draft, ownFiles(files, number));
  await writePlan(draft, plan);
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

/** What a retry takes of [train] from the job file as it is now. */
const takenKeys = ['command', 'files', 'outputs', 'check', 'env'] as const;

/** How a job file differs from its run. */
export interface Correction {
  /** What a retry with new files takes, as text. */
  changes: { key: string; from: string; to: string }[];
  /** Files that are sent with the jobs. */
  files: string[];
  /** What needs a new run. */
  notUsed: string[];
}

/** Compares a run's plans with its job file as it is now; throws if that describes other jobs or other software. */
export function compareJobFile(first: Plan, last: Plan, now: Plan): Correction {
  const jobs = ({ spec, jobs: all }: Plan): unknown => [
    spec.name,
    all.map(({ id, parameters }) => [id, parameters]),
  ];
  const software = (plan: Plan): unknown =>
    variantsOf(plan).map(({ spec, environment }) => [spec.environment, environment]);
  const refuse = (what: string): Fault =>
    new Fault('usage', `${now.file} describes other ${what} changed`, {
      fix: `start a new run: updraft run --new ${shellQuote(now.file)}; or retry without --with-new-files`,
      about: now.file,
    });
  if (!isEqual(jobs(last), jobs(now))) throw refuse('jobs than the run has: its name, `jobs` or matrix');
  if (!isEqual(software(last), software(now)))
    throw refuse('software than the run has: [environment], a lock or an archive');
  const [before, after] = [last.spec.train, now.spec.train];
  const changes = takenKeys
    .map((key) => ({ key: `train.${key}`, from: textOf(before[key]), to: textOf(after[key]) }))
    .filter(({ from, to }) => from !== to);
  const sections = (['data', 'resources', 'run', 'recovery'] as const)
    .filter((name) => !isEqual(first.spec[name], now.spec[name]))
    .map((name) => `[${name}]`);
  const isOther = !isEqual(taking(first.spec.train, after), after);
  const notUsed = [...(isOther ? ['other keys of [train]'] : []), ...sections];
  return { changes, files: changedFiles(last.files, now.files), notUsed };
}

/** The paths of files that differ between the two lists. */
export function changedFiles(before: readonly PlannedFile[], after: readonly PlannedFile[]): string[] {
  const hashes = new Map(before.map(({ path, sha256 }) => [path, sha256]));
  const changed = after.filter(({ path, sha256 }) => hashes.get(path) !== sha256).map(({ path }) => path);
  return [...changed, ...hashes.keys().filter((path) => after.every((file) => file.path !== path))];
}

const isEqual = (one: unknown, other: unknown): boolean => stableJson(one) === stableJson(other);
const textOf = (value: unknown = 'none'): string =>
  typeof value === 'string' ? value : JSON.stringify(value);

const taking = (old: Train, now: Train = old): Train =>
  defined({ ...old, ...Object.fromEntries(takenKeys.map((key) => [key, now[key]])) });

/** The run's plan, with what the job file says now. Its hash is neither's: it has parts of both. */
function correctedPlan(last: Plan, now: Plan): Plan {
  const trains = new Map(now.jobs.map(({ id, train }) => [id, train]));
  return {
    ...last,
    jobs: last.jobs.map((job) => ({ ...job, train: taking(job.train, trains.get(job.id)) })),
    spec: { ...last.spec, train: taking(last.spec.train, now.spec.train) },
    files: now.files,
    planHash: hash('sha256', `${last.planHash}\n${now.planHash}`),
  };
}

/** What starting rounds needs. */
export interface RoundContext {
  clock: Clock;
  pid: number;
}

/** Runs `action` while no other process starts a round; first submits a round whose process died before it could. */
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
