import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { isGone } from '../base/is-gone.ts';
import { runsFolder } from '../job/layout.ts';
import type { Plan } from '../job/plan.ts';
import { loadRun } from '../journal/load-run.ts';
import type { RunState } from '../journal/state.ts';
import { readPlan } from './read-plan.ts';

/** A run that was made from the same job file before. */
export interface EarlierRun {
  folder: string;
  plan: Plan;
  state: RunState;
}

export interface Earlier {
  /** The run of this very plan to go on with: an unfinished one, or else the newest. */
  same: EarlierRun | undefined;
  /** The newest run under this name, whatever its plan. */
  newest: EarlierRun | undefined;
}

/** Looks for runs under the plan's name. What is no readable run is left alone. */
export async function findEarlier(plan: Plan): Promise<Earlier> {
  const runs = await runsNamed(plan);
  const same = runs.filter((run) => run.plan.planHash === plan.planHash);
  return { same: same.find(({ state }) => state.endedAt === undefined) ?? same[0], newest: runs[0] };
}

/** Newest first: the id in a run's name begins with its date and time. */
async function runsNamed({ folder, spec }: Plan): Promise<EarlierRun[]> {
  const runs = path.join(folder, runsFolder);
  const names = await readdir(runs).catch((error: unknown) => {
    if (isGone(error)) return [];
    throw error;
  });
  const found: EarlierRun[] = [];
  for (const name of names
    .filter((one) => one.startsWith(`${spec.name}-`))
    .sort()
    .reverse()) {
    const run = await loadEarlier(path.join(runs, name)).catch(() => undefined);
    if (run?.plan.spec.name === spec.name) found.push(run);
  }
  return found;
}

async function loadEarlier(folder: string): Promise<EarlierRun> {
  return { folder, plan: await readPlan(folder), state: await loadRun(folder) };
}
