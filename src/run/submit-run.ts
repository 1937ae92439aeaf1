import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Clock, counted, defined, firstFew, stableJson, unlessGone } from '@updraft/base';
import { runsFolder } from '@updraft/account/run-folder';
import { asFault, Fault } from '@updraft/account/fault';
import {
  meanLife,
  countInterruptions,
  type Interruptions,
  meanSaveSeconds,
  type Place,
  placesOf,
} from '@updraft/account/recovery';
import { poolTraits } from '../job/pool-traits.ts';
import { type Plan, rungsOf } from '../job/plan.ts';
import { inRounds, withDrawnTrials } from '../job/search-trials.ts';
import { type Pool, type Round, readPlan } from '../pool/pool.ts';
import { askSampler } from './ask-sampler.ts';
import {
  createRun,
  newRunName,
  withCreationLease,
  writePlan,
  type PackOptions,
  withPackedData,
} from './create-run.ts';
import { startNextBatch, changedFiles, type RoundContext } from './rounds.ts';
import { readRunState, listRuns, readRunOutline } from './run-states.ts';
import { endedBadly, type RunState } from '@updraft/account/journal';

export interface SubmitOptions extends PackOptions {
  /** Start another run even if there is one of the same plan. */
  isNew: boolean;
  /** Sizes of the canary batches of a new run. */
  canary?: number[] | undefined;
  version: string;
  clock: Clock;
  pid: number;
}

/** The result of submitting a plan. */
export interface Submitted {
  folder: string;
  /** `finished`: a run of this plan has ended, and nothing was done. */
  how: 'created' | 'continued' | 'finished';
  why: string;
}

/** Submits a plan. The same one again resumes its run, or reports it; a changed one (or `isNew`) creates another. */
export async function submitRun(plan: Plan, pool: Pool, options: SubmitOptions): Promise<Submitted> {
  const { same } = await findEarlier(plan);
  if (same !== undefined && !options.isNew) return await resumeEarlier(plan, same, pool, options);
  const made = await withCreationLease(plan, options, async () => {
    const earlier = await findEarlier(plan);
    return earlier.same === undefined || options.isNew
      ? await create(plan, pool, earlier, options)
      : earlier.same;
  });
  if (!('why' in made)) return await resumeEarlier(plan, made, pool, options);
  await pool.submit(made.folder);
  return made;
}

async function resumeEarlier(
  plan: Plan,
  { folder, plan: before, isEnded }: EarlierRun,
  pool: Pool,
  options: SubmitOptions,
): Promise<Submitted> {
  const { results, ...others } = before.spec;
  const isSame = stableJson(results ?? {}) === stableJson(plan.spec.results ?? {});
  if (!isSame)
    await writePlan(folder, { ...before, spec: { ...others, ...defined({ results: plan.spec.results }) } });
  const changed = isSame ? 'nothing changed' : 'only [results] changed';
  if (isEnded)
    return { folder, how: 'finished', why: await describeEnd(folder, `${changed} since it ended`) };
  return await continueRun(folder, pool, options, `it has not ended and ${changed}`);
}

async function create(
  plan: Plan,
  pool: Pool,
  earlier: EarlierRuns,
  options: SubmitOptions,
): Promise<Submitted> {
  const { version, clock } = options;
  const run = newRunName(plan, clock);
  const canary = batchesFor(plan, options.canary);
  const first = canary && firstBatch(plan, canary[0] ?? 0);
  const drawn = withDrawnTrials(plan, await askSampler(plan, plan.jobs.length, [], options));
  return await withPackedData(await withExperience(drawn, pool), run, options, async (packed) => {
    const rendering = await pool.render(packed, run, first);
    const folder = await createRun(packed, rendering.files, version, clock, run, canary);
    const ahead = first === undefined ? '' : `; ${first.jobs.length} of ${plan.jobs.length} jobs go ahead`;
    return { folder, how: 'created', why: `${reason(plan, earlier, options)}; ${rendering.summary}${ahead}` };
  });
}

/** Resumes a run by its folder, as it was created, whatever its job file says by now. */
export async function resumeRun(folder: string, pool: Pool, context: RoundContext): Promise<Submitted> {
  const { endedAt } = await readRunState(folder);
  if (endedAt !== undefined)
    return { folder, how: 'finished', why: await describeEnd(folder, `it ended at ${endedAt}`) };
  return await continueRun(folder, pool, context, 'it has not ended');
}

async function continueRun(
  folder: string,
  pool: Pool,
  context: RoundContext,
  why: string,
): Promise<Submitted> {
  await pool.submit(folder);
  const next = await startNextBatch(folder, pool, context);
  const more = next && `; ${next.why}, and ${next.jobs.length} more are queued now`;
  return { folder, how: 'continued', why: `${why}${more ?? ''}` };
}

/** The plan with what is known of its pool, by its profile and from earlier runs. */
export async function withExperience(plan: Plan, pool: Pool): Promise<Plan> {
  const isSaved = plan.spec.train.checkpoint !== undefined;
  const meanLifeSeconds = isSaved ? meanLife(await earlierInterruptions(plan)) : undefined;
  const places = poolTraits[plan.spec.run.pool].ranksSlots ? await earlierPlaces(plan) : undefined;
  const known = { ...plan, ...defined({ meanLifeSeconds, places }) };
  if (rungsOf(plan.spec) === undefined) return known;
  const { sharesNoNotes } = (await pool.limits(plan)) ?? {};
  return {
    ...(sharesNoNotes ? inRounds(known) : known),
    ...defined({ epochTime: await earlierEpoch(plan) }),
  };
}

/** The median epoch of the run that this one is `like`, or of the latest of its name on its pool that has trained. */
async function earlierEpoch(plan: Plan): Promise<Plan['epochTime']> {
  const { like, pool } = plan.spec.run;
  const folders = like === undefined ? await runsNamed(plan) : [path.resolve(plan.folder, like)];
  for (const folder of folders.slice(0, maxRuns)) {
    const state = await readRunState(folder).catch(() => undefined);
    if (like === undefined && (state?.name !== plan.spec.name || state.pool !== pool)) continue;
    const paces = state?.jobs.flatMap(({ attempts }) =>
      attempts.flatMap(({ agent }) => agent?.training?.pace ?? []),
    );
    const times = (paces ?? []).flatMap(({ epochSeconds }) => epochSeconds ?? []).sort((a, b) => a - b);
    const seconds = times[Math.floor(times.length / 2)];
    if (seconds !== undefined) return { seconds, run: path.basename(folder) };
  }
  return undefined;
}

/** What slots were worth to the run that this one is `like`, or to the latest one of its name that has ended. */
async function earlierPlaces(plan: Plan): Promise<Place[] | undefined> {
  const { like, pool } = plan.spec.run;
  if (like !== undefined) return placesOf(await jobsOfLike(plan, like));
  for (const earlier of await runsNamed(plan)) {
    const its = await readPlan(earlier).catch(() => undefined);
    if (its?.spec.name !== plan.spec.name || its.spec.run.pool !== pool || its.isRehearsal === true) continue;
    const state = await readRunState(earlier).catch(() => undefined);
    if (state?.endedAt !== undefined) return placesOf(state.jobs);
  }
  return undefined;
}

async function jobsOfLike({ folder, file }: Plan, like: string): Promise<RunState['jobs']> {
  const state = await readRunState(path.resolve(folder, like)).catch(asFault);
  const wrong = state instanceof Fault ? state.message : 'it has not ended';
  if (!(state instanceof Fault) && state.endedAt !== undefined) return state.jobs;
  throw new Fault(
    'file-invalid',
    `[run] like = ${JSON.stringify(like)} names no run to learn from: ${wrong}`,
    {
      about: file,
      fix: 'name the folder of a run that has ended, like "runs/resnet-1a2b3c"; `updraft runs` lists them',
    },
  );
}

async function describeEnd(folder: string, unchanged: string): Promise<string> {
  const { jobs } = await readRunState(folder);
  const bad = jobs.filter(endedBadly);
  const kept = jobs.filter(({ isKeptBack }) => isKeptBack).length;
  if (kept > 0) {
    const failed = firstFew(
      bad.map(({ id }) => id),
      8,
    );
    return (
      `${failed} ran first and failed, so ${counted(kept, 'job')} ${kept === 1 ? 'was' : 'were'} never queued; ` +
      '`updraft retry` tries again and queues the rest after success'
    );
  }
  const again = bad.length > 0 ? ', `updraft retry` tries the failed jobs again' : '';
  return `${unchanged}; --new starts another${again}`;
}

/** Only batches that leave jobs behind; if the first one takes all, there is no canary. */
const batchesFor = ({ jobs }: Plan, batches: number[] | undefined): number[] | undefined =>
  batches !== undefined && (batches[0] ?? 0) < jobs.length ? batches : undefined;

const firstBatch = ({ jobs }: Plan, size: number): Round => ({
  number: 1,
  jobs: jobs.slice(0, size).map(({ id }) => id),
  attemptsBefore: new Map(),
});

function reason(plan: Plan, { same, newest }: EarlierRuns, { isNew }: SubmitOptions): string {
  if (newest === undefined) return 'the first run under this name';
  const last = path.basename(newest.folder);
  if (isNew && same !== undefined) return `another run was asked for, beside ${last}`;
  const still = newest.isEnded ? '' : ', which has not ended';
  return `changed since ${last}${still}: ${whatChanged(newest.plan, plan).join(', ')}`;
}

/** The sections of the job file and the files that differ between two plans, for a sentence. */
export function whatChanged(before: Plan, after: Plan): string[] {
  const sections = ['train', 'data', 'environment', 'resources', 'run'] as const;
  const changed: string[] = sections
    .filter((section) => stableJson(before.spec[section]) !== stableJson(after.spec[section]))
    .map((section) => `[${section}]`);
  const prints = new Map(before.data.map(({ name, here }) => [name, here?.fingerprint]));
  for (const { name, url, here } of after.data)
    if (here !== undefined && prints.has(name) && prints.get(name) !== here.fingerprint)
      changed.push(path.basename(fileURLToPath(url)));
  return [...changed, ...changedFiles(before.files, after.files)];
}

/** An earlier run of the same name. */
export interface EarlierRun {
  folder: string;
  plan: Plan;
  isEnded: boolean;
}

export interface EarlierRuns {
  /** The run of this plan to resume: an unfinished one, or else the newest. */
  same: EarlierRun | undefined;
  /** The newest run under this name, whatever its plan. */
  newest: EarlierRun | undefined;
}

/** Finds runs of the plan's name. Anything that is not a readable run is left alone. */
export async function findEarlier(plan: Plan): Promise<EarlierRuns> {
  const earlier: EarlierRuns = { same: undefined, newest: undefined };
  for (const folder of await runsNamed(plan)) {
    const its = await readPlan(folder).catch(() => undefined);
    const isSame = its?.planHash === plan.planHash;
    if (its?.spec.name !== plan.spec.name || !(isSame || earlier.newest === undefined)) continue;
    const state = await readRunState(folder).catch(() => undefined);
    if (state === undefined) continue;
    const run = { folder, plan: its, isEnded: state.endedAt !== undefined };
    earlier.newest ??= run;
    if (isSame) earlier.same ??= run;
    if (isSame && !run.isEnded) return { ...earlier, same: run };
  }
  return earlier;
}

/** Newest first: the id in a run's name starts with its date and time. */
async function runsNamed({ folder, spec }: Plan): Promise<string[]> {
  const runs = path.join(folder, runsFolder);
  const names = (await unlessGone(readdir(runs))) ?? [];
  const ours = names.filter((name) => name.startsWith(`${spec.name}-`));
  return ours
    .sort()
    .reverse()
    .map((name) => path.join(runs, name));
}

/** Older ones say little about the pool of today. */
const maxRuns = 20;

/** From the latest runs in the plan's folder on the same pool; a rehearsal evicts on purpose and does not count. */
export async function earlierInterruptions({ folder, spec }: Plan): Promise<Interruptions> {
  const runs = await listRuns(path.join(folder, runsFolder)).catch(() => []);
  const same = runs.filter(({ pool, isRehearsal }) => pool === spec.run.pool && !isRehearsal);
  const states = await Promise.all(
    same.slice(0, maxRuns).map((run) => readRunOutline(run.folder).catch(() => undefined)),
  );
  const latest = same[states.findIndex((state) => state?.name === spec.name)];
  // Only an agent's own journal has it, and reading those of many jobs takes long: the latest run is enough.
  const detailed = latest && (await readRunState(latest.folder).catch(() => undefined));
  const saveSeconds = detailed && meanSaveSeconds([detailed]);
  return {
    ...countInterruptions(states.filter((state) => state !== undefined)),
    ...defined({ saveSeconds }),
  };
}
