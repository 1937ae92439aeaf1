import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { isGone } from '../base/error-reason.ts';
import { runsFolder } from '../job/layout.ts';
import type { Plan } from '../job/plan.ts';
import { readPlan } from '../pool/read-plan.ts';
import { readRunState } from './run-states.ts';

/** A run that was made under the same name before. */
export interface EarlierRun {
  folder: string;
  plan: Plan;
  isEnded: boolean;
}

export interface Earlier {
  /** The run of this very plan to go on with: an unfinished one, or else the newest. */
  same: EarlierRun | undefined;
  /** The newest run under this name, whatever its plan. */
  newest: EarlierRun | undefined;
}

/** Looks for runs under the plan's name. What is no readable run is left alone. */
export async function findEarlier(plan: Plan): Promise<Earlier> {
  const earlier: Earlier = { same: undefined, newest: undefined };
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

/** Newest first: the id in a run's name begins with its date and time. */
async function runsNamed({ folder, spec }: Plan): Promise<string[]> {
  const runs = path.join(folder, runsFolder);
  const names = await readdir(runs).catch((error: unknown) => {
    if (isGone(error)) return [];
    throw error;
  });
  const ours = names.filter((name) => name.startsWith(`${spec.name}-`));
  return ours
    .sort()
    .reverse()
    .map((name) => path.join(runs, name));
}
