import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import type { Plan } from '../job/plan.ts';
import type { Pool } from '../pool/pool.ts';
import { createRun, newRunName } from './create-run.ts';
import { findEarlier, type Earlier } from './find-earlier.ts';
import { whatChanged } from './what-changed.ts';
import { readRunState } from './run-states.ts';

export interface SubmitOptions {
  /** Start another run even when there is one of the same plan. */
  isNew: boolean;
  version: string;
  clock: Clock;
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
  const earlier = await findEarlier(plan);
  const { same } = earlier;
  if (same !== undefined && !options.isNew) {
    const { folder, isEnded } = same;
    if (isEnded)
      return { folder, how: 'finished', why: 'nothing changed since it ended; --new starts another' };
    await pool.submit(folder);
    return { folder, how: 'continued', why: 'it has not ended and nothing changed' };
  }
  const run = newRunName(plan, options.clock);
  const rendering = await pool.render(plan, run);
  const folder = await createRun(plan, rendering.files, options.version, options.clock, run);
  await pool.submit(folder);
  return { folder, how: 'created', why: `${reason(plan, earlier, options)}; ${rendering.summary}` };
}

/** Takes up a run by its folder, as it was made: what its job file says by now does not matter. */
export async function resumeRun(folder: string, pool: Pool): Promise<Submitted> {
  const { endedAt } = await readRunState(folder);
  if (endedAt !== undefined) return { folder, how: 'finished', why: `it ended at ${endedAt}` };
  await pool.submit(folder);
  return { folder, how: 'continued', why: 'it has not ended' };
}

function reason(plan: Plan, { same, newest }: Earlier, { isNew }: SubmitOptions): string {
  if (newest === undefined) return 'the first run under this name';
  const last = path.basename(newest.folder);
  if (isNew && same !== undefined) return `another run was asked for, beside ${last}`;
  const still = newest.isEnded ? '' : ', which has not ended';
  return `changed since ${last}${still}: ${whatChanged(newest.plan, plan).join(', ')}`;
}
