import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { firstFew } from '../base/printable.ts';
import type { Plan } from '../job/plan.ts';
import type { Pool, Round } from '../pool/pool.ts';
import { createRun, newRunName, whileCreating } from './create-run.ts';
import { type Earlier, type EarlierRun, findEarlier } from './find-earlier.ts';
import { climb } from './keep-going.ts';
import { readRunState } from './run-states.ts';
import { whatChanged } from './what-changed.ts';
import type { RoundsWorld } from './with-rounds.ts';

export interface SubmitOptions {
  /** Start another run even when there is one of the same plan. */
  isNew: boolean;
  /** Sizes of the rungs in which the jobs of a new run go ahead. */
  canary?: number[] | undefined;
  version: string;
  clock: Clock;
  pid: number;
}

/** What became of a plan that was submitted. */
export interface Submitted {
  folder: string;
  /** `finished`: there is a run of this very plan that has ended, and nothing was done. */
  how: 'created' | 'continued' | 'finished';
  why: string;
}

/**
 * Hands a plan to a pool. The same plan again means to go on: its unfinished run is taken up, its finished run is
 * told, and only a changed plan (or `isNew`) makes another run.
 */
export async function submitRun(plan: Plan, pool: Pool, options: SubmitOptions): Promise<Submitted> {
  const { same } = await findEarlier(plan);
  if (same !== undefined && !options.isNew) return await takeUp(same, pool, options);
  const made = await whileCreating(plan, options, async () => {
    const earlier = await findEarlier(plan);
    return earlier.same === undefined || options.isNew
      ? await create(plan, pool, earlier, options)
      : earlier.same;
  });
  if (!('why' in made)) return await takeUp(made, pool, options);
  await pool.submit(made.folder);
  return made;
}

async function takeUp(
  { folder, isEnded }: EarlierRun,
  pool: Pool,
  options: SubmitOptions,
): Promise<Submitted> {
  if (isEnded)
    return { folder, how: 'finished', why: await howEnded(folder, 'nothing changed since it ended') };
  return await goOn(folder, pool, options, 'it has not ended and nothing changed');
}

async function create(plan: Plan, pool: Pool, earlier: Earlier, options: SubmitOptions): Promise<Submitted> {
  const { version, clock } = options;
  const run = newRunName(plan, clock);
  const canary = rungsFor(plan, options.canary);
  const first = canary && firstRung(plan, canary[0] ?? 0);
  const rendering = await pool.render(plan, run, first);
  const folder = await createRun(plan, rendering.files, version, clock, run, canary);
  const ahead = first === undefined ? '' : `; ${first.jobs.length} of ${plan.jobs.length} jobs go ahead`;
  return { folder, how: 'created', why: `${reason(plan, earlier, options)}; ${rendering.summary}${ahead}` };
}

/** Takes up a run by its folder, as it was made: what its job file says by now does not matter. */
export async function resumeRun(folder: string, pool: Pool, world: RoundsWorld): Promise<Submitted> {
  const { endedAt } = await readRunState(folder);
  if (endedAt !== undefined)
    return { folder, how: 'finished', why: await howEnded(folder, `it ended at ${endedAt}`) };
  return await goOn(folder, pool, world, 'it has not ended');
}

async function goOn(folder: string, pool: Pool, world: RoundsWorld, why: string): Promise<Submitted> {
  await pool.submit(folder);
  const ahead = await climb(folder, pool, world);
  const more = `; all that went ahead have a valid result, and ${ahead.length} more go ahead now`;
  return { folder, how: 'continued', why: ahead.length === 0 ? why : `${why}${more}` };
}

async function howEnded(folder: string, unchanged: string): Promise<string> {
  const { jobs } = await readRunState(folder);
  const bad = jobs.filter(({ outcome }) => outcome !== undefined && outcome !== 'success');
  const kept = jobs.filter(({ isKeptBack }) => isKeptBack).length;
  if (kept > 0)
    return `${firstFew(
      bad.map(({ id }) => id),
      8,
    )} went ahead and failed, so ${kept} jobs were never queued; \`updraft retry\` tries again, and they follow when that is good`;
  const again = bad.length > 0 ? ', `updraft retry` tries the failed jobs again' : '';
  return `${unchanged}; --new starts another${again}`;
}

/** Rungs that leave somebody behind; a ladder that the first rung climbs is none. */
function rungsFor({ jobs }: Plan, rungs: number[] | undefined): number[] | undefined {
  return rungs !== undefined && (rungs[0] ?? 0) < jobs.length ? rungs : undefined;
}

const firstRung = ({ jobs }: Plan, size: number): Round => ({
  number: 1,
  jobs: jobs.slice(0, size).map(({ id }) => id),
  attemptsBefore: new Map(),
});

function reason(plan: Plan, { same, newest }: Earlier, { isNew }: SubmitOptions): string {
  if (newest === undefined) return 'the first run under this name';
  const last = path.basename(newest.folder);
  if (isNew && same !== undefined) return `another run was asked for, beside ${last}`;
  const still = newest.isEnded ? '' : ', which has not ended';
  return `changed since ${last}${still}: ${whatChanged(newest.plan, plan).join(', ')}`;
}
