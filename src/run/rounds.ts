import { hash } from 'node:crypto';
import { mkdir, rename, stat } from 'node:fs/promises';
import path from 'node:path';
import {
  type Clock,
  defined,
  shellQuote,
  stableJson,
  isThere,
  firstFew,
  mapLimited,
  given,
} from '@updraft/base';
import { identifyProcess, withLease } from '@updraft/base/processes';
import { removeTree } from '@updraft/base/disk';
import { Fault, usageFault } from '@updraft/account/fault';
import { roundFolder, runFiles, resultsFolder } from '@updraft/account/run-folder';
import {
  lastRung,
  openJournal,
  readRunJournal,
  type RunBody,
  type RunState,
  type JobState,
  stoppedEarly,
} from '@updraft/account/journal';
import { nextBatch, placesOf, trialsAtRung } from '@updraft/account/recovery';
import { type Plan, type PlannedFile, rungsOf } from '../job/plan.ts';
import type { Job } from '../job/job.ts';
import type { Train } from '../job/spec.ts';
import { judgeRound, withLargerBudget, withMoreTrials } from '../job/search-trials.ts';
import { joinVariants, variantsOf } from '../job/variants.ts';
import { type Pool, readPlan, type ResourceChange, roundPlan } from '../pool/pool.ts';
import { askSampler } from './ask-sampler.ts';
import { copyFiles, writePlan, writeRendered } from './create-run.ts';
import { readRunState } from './run-states.ts';
import { isAdopted } from '../pool/htcondor.ts';

export interface RoundStart {
  jobs: readonly string[];
  why: string;
  change?: ResourceChange;
  /** The plan of the job file as it is now: its training and files replace those of the run. */
  now?: Plan | undefined;
  /** What the trials of a search have come to before it. */
  judged?: readonly Extract<RunBody, { kind: 'rung-judged' }>[];
  /** Instead of the last round's: with jobs that are new, or other arguments of some. */
  extended?: Plan | undefined;
}

/** Submits jobs once more: the round's folder is complete before the journal names it. Call it in `withRounds`. */
async function startRound(
  runFolder: string,
  state: RunState,
  pool: Pool,
  { jobs, why, change = {}, now, extended, judged = [] }: RoundStart,
  clock: Clock,
): Promise<void> {
  const number = state.rounds + 1;
  const folder = roundFolder(runFolder, number);
  const draft = path.join(path.dirname(folder), `.${number}.draft`);
  // Left by a process that died before the journal named the round.
  for (const left of [folder, draft]) await removeTree(left);
  await mkdir(draft, { recursive: true, mode: 0o700 });
  const last = extended ?? (await roundPlan(runFolder, number - 1));
  const base = now === undefined ? last : correctedPlan(last, now);
  const plan = joinVariants(
    base,
    variantsOf(base).map((one) => changed(one, change)),
  );
  const places = pool.traits.ranksSlots ? placesOf(state.jobs) : [];
  // Before anything was measured, the experience of earlier runs is all there is.
  if (places.length > 0) plan.places = places;
  if (now !== undefined) {
    plan.filesIn = path.posix.join(runFiles.rounds, String(number), runFiles.files);
    await copyFiles(plan, path.join(draft, runFiles.files));
  }
  const meant = new Set(jobs);
  const attemptsBefore = new Map(state.jobs.map(({ id, attempts }) => [id, attempts.at(-1)?.number ?? 0]));
  const ordered = plan.jobs.map(({ id }) => id).filter((id) => meant.has(id));
  const { files } = await pool.render(plan, state.run, { number, jobs: ordered, attemptsBefore });
  await writeRendered(draft, ownFiles(files, number));
  await writePlan(draft, plan);
  await rename(draft, folder);
  if (extended !== undefined) await describeExtended(runFolder, extended);
  await record(runFolder, [...judged, { kind: 'round-started', round: number, jobs: ordered, why }], {
    clock,
  });
  await pool.submit(runFolder);
}

/** Whatever shows the run takes parameters from its first plan. */
async function describeExtended(runFolder: string, { jobs, spec, overrides }: Plan): Promise<void> {
  const first = await readPlan(runFolder);
  const { search, run } = spec;
  const described = { ...first.spec, run: { ...first.spec.run, matrix: run.matrix } };
  const plan = { ...first, jobs, spec: { ...described, ...defined({ search }) }, ...defined({ overrides }) };
  await writePlan(runFolder, plan);
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
    usageFault(
      `${now.file} describes other ${what} changed`,
      `start a new run: updraft run --new ${shellQuote(now.file)}; or retry without --with-new-files`,
      now.file,
    );
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
  const notUsed = given(isOther && 'other keys of [train]', ...sections);
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
  signal?: AbortSignal | undefined;
}

/** Runs `action` while no other process starts a round; first submits a round whose process died before it could. */
async function withRounds<T>(
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
  const entries = await readRunJournal(runFolder);
  const last = entries.findLast((entry) => entry.kind === 'round-started')?.round ?? 1;
  const taken = entries.filter((entry) => entry.kind === 'submitted').map(({ round = 1 }) => round);
  return taken.length > 0 && !taken.includes(last);
}

/**
 * Queues the next canary batch of a run when all jobs before it have a valid result, or the trials that go on when all
 * have ended at their rung. Returns these jobs, and why. In a run with a supervisor, the supervisor does so.
 */
export async function startNextBatch(
  runFolder: string,
  pool: Pool,
  context: RoundContext,
): Promise<{ jobs: string[]; why: string } | undefined> {
  const isDue = (state: RunState): boolean =>
    nextBatch(state).length > 0 || trialsAtRung(state.jobs).length > 0;
  if (pool.traits.supervises || !isDue(await readRunState(runFolder))) return undefined;
  return await withRounds(runFolder, pool, context, async (state) => {
    const batch = nextBatch(state);
    const start =
      batch.length > 0
        ? { jobs: batch, why: 'all earlier jobs have a valid result', judged: [] }
        : await nextRound(runFolder, state);
    if (start.jobs.length > 0) await startRound(runFolder, state, pool, start, context.clock);
    else await record(runFolder, start.judged, context);
    return start.jobs.length > 0 ? start : undefined;
  });
}

/** The best of the trials that wait at their rung go on; those that have no valid result are out. */
async function nextRound(runFolder: string, state: RunState) {
  const plan = await roundPlan(runFolder, state.rounds);
  const { judged, extended } = judgeRound(plan, trialsAtRung(state.jobs), state.jobs);
  return {
    jobs: judged.filter(({ goesOn }) => goesOn).map(({ job }) => job),
    why: 'all trials of the round have ended',
    judged: judged.map((one) => ({ kind: 'rung-judged' as const, ...one })),
    extended,
  };
}

const pollMs = 2_000;

/**
 * Submits the run again whenever its supervisor has died, and queues the next batch or round whenever one is over.
 * Ends when the signal aborts.
 */
export async function keepGoing(
  runFolder: string,
  pool: Pool,
  context: RoundContext,
  signal: AbortSignal,
): Promise<void> {
  const { canary } = await readRunState(runFolder);
  const plan = await readPlan(runFolder).catch(() => undefined);
  const isInBatches = canary !== undefined || plan?.jobs.some(({ rungs }) => rungs?.until !== undefined);
  while (!signal.aborted) {
    const isDead = (await pool.supervisor?.(runFolder))?.state === 'died';
    // One that is being removed must not come back.
    if (isDead && (await isThere(path.join(runFolder, runFiles.journal)))) await pool.submit(runFolder);
    if (isInBatches) await startNextBatch(runFolder, pool, context);
    await context.clock.sleep(pollMs, signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }
}

/** The state of a job that has no valid result and is neither running nor queued. */
export type UnfinishedState = 'failed' | 'removed' | 'held' | 'missing';

interface UnfinishedJob {
  job: JobState;
  lack: UnfinishedState;
}

/** Jobs whose results are checked at the same time. */
const concurrency = 32;

/**
 * The jobs of a run that can be retried. One that succeeded, but whose results are gone, is `missing`.
 */
export async function unfinishedJobs(runFolder: string, jobs: readonly JobState[]): Promise<UnfinishedJob[]> {
  if (await isAdopted(runFolder))
    throw usageFault(
      `${path.basename(runFolder)} comes from your own submit file, which decides what is retried`,
      'release a held job with condor_release, or submit the file again with condor_submit',
      runFolder,
    );
  const lacks = await mapLimited(jobs, concurrency, (job) => unfinishedState(runFolder, job));
  return jobs.flatMap((job, index) => {
    const lack = lacks[index];
    return lack === undefined ? [] : [{ job, lack }];
  });
}

async function unfinishedState(runFolder: string, job: JobState): Promise<UnfinishedState | undefined> {
  if (job.status !== 'ended') return undefined;
  if (job.outcome === 'held' || job.outcome === 'removed') return job.outcome;
  if (job.outcome !== 'success') return 'failed';
  // It would stop again at once.
  if (stoppedEarly(job) !== undefined) return undefined;
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

interface RetryRequest {
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
    // The scheduler's log has it too; whoever waits for the run's journal to grow learns of it here.
    const why = 'updraft retry';
    await record(
      runFolder,
      [...released].map((job) => ({ kind: 'job-released', job, why })),
      context,
    );
    const queued = ids.filter((id) => !released.has(id));
    const { now, changed = [] } = corrected ?? {};
    const how = now === undefined ? '' : ` --with-new-files: ${firstFew(changed, 8) || 'nothing'} changed`;
    const asked = `asked for with updraft retry${how}`;
    if (queued.length > 0)
      await startRound(runFolder, state, pool, { jobs: queued, why: asked, change, now }, context.clock);
    return { queued, released: [...released] };
  });
}

/** More trials of a search; or the best of those that have ended, with `times` the largest budget. */
export type Extension =
  | { trials: number; drawn?: Job['parameters'][] | undefined }
  | { top: number; times: number };

/** The plan of an extended search, and the jobs that it starts. A sampler is asked for those that nobody has drawn. */
export async function planExtension(
  runFolder: string,
  state: RunState,
  asked: Extension,
  { signal }: Pick<RoundContext, 'signal'>,
): Promise<{ extended: Plan; jobs: Plan['jobs']; asked: Extension }> {
  const last = await roundPlan(runFolder, state.rounds);
  if ('top' in asked) {
    const best = bestTrials(state, last).slice(0, asked.top);
    const extended = withLargerBudget(last, best, asked.times);
    return { extended, jobs: extended.jobs.filter(({ id }) => best.includes(id)), asked };
  }
  const { trials } = asked;
  const drawn = asked.drawn ?? (await askSampler(last, trials, state.jobs, { signal }));
  const extended = withMoreTrials(last, state.jobs.length, trials, drawn);
  if (!state.jobs.some(({ isKeptBack }) => isKeptBack))
    return { extended, jobs: extended.jobs.slice(state.jobs.length), asked: { trials, drawn } };
  throw usageFault(
    `trials of ${state.run} still wait for its canary or next round`,
    'add more once `updraft status` shows that they are queued',
    runFolder,
  );
}

/** Trials that were stopped or have finished, by their metric at the last rung that each has reached. */
function bestTrials({ jobs }: RunState, { spec }: Plan): string[] {
  const sign = rungsOf(spec)?.isLowerBetter ? 1 : -1;
  return jobs
    .filter(({ outcome }) => outcome === 'success')
    .map((job) => ({ id: job.id, cost: sign * (lastRung(job)?.value ?? NaN) }))
    .filter(({ cost }) => !Number.isNaN(cost))
    .sort((a, b) => a.cost - b.cost)
    .map(({ id }) => id);
}

/** Extends a search, and returns the jobs that were queued. */
export async function extendSearch(
  runFolder: string,
  pool: Pool,
  { asked, change }: { asked: Extension; change: ResourceChange },
  context: RoundContext,
): Promise<string[]> {
  return await withRounds(runFolder, pool, context, async (state) => {
    const { extended, jobs: meant } = await planExtension(runFolder, state, asked, context);
    const jobs = meant.map(({ id }) => id);
    const how = 'top' in asked ? `--top ${asked.top} --budget ${asked.times}x` : `--trials +${asked.trials}`;
    const why = `asked for with updraft retry ${how}`;
    if (jobs.length > 0)
      await startRound(runFolder, state, pool, { jobs, why, change, extended }, context.clock);
    return jobs;
  });
}

async function record(
  runFolder: string,
  bodies: readonly RunBody[],
  { clock }: Pick<RoundContext, 'clock'>,
): Promise<void> {
  await using journal = await openJournal(path.join(runFolder, runFiles.journal), clock);
  await journal.append(...bodies);
}

function requestedJobs({ jobs }: RunState, ids: readonly string[]): JobState[] {
  const meant = new Set(ids);
  return jobs.filter(({ id }) => meant.has(id));
}
