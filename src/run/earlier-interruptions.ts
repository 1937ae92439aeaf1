import path from 'node:path';
import { defined } from '@updraft/base';
import { runsFolder } from '../job/layout.ts';
import type { Plan } from '../job/plan.ts';
import { countInterruptions, type Interruptions, meanSaveSeconds } from '../recovery/interruptions.ts';
import { listRuns } from './list-runs.ts';
import { readRunOutline, readRunState } from './run-states.ts';

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
