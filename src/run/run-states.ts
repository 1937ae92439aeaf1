import { stat } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { followRun } from '../journal/follow-run.ts';
import type { EntrySource } from '../journal/entry-source.ts';
import { loadRun } from '../journal/load-run.ts';
import type { RunState } from '../journal/state.ts';
import { condorFiles } from '../pool/condor/condor-files.ts';
import { eventLogSource } from '../pool/condor/follow/event-log-source.ts';
import { slurmFiles } from '../pool/slurm/slurm-files.ts';
import { taskSource } from '../pool/slurm/task-source.ts';
import { readPlan } from './read-plan.ts';

/** The state of a run, whatever its pool, from its folder alone. */
export async function readRunState(runFolder: string): Promise<RunState> {
  return loadRun(runFolder, await poolSource(runFolder));
}

/** The states of a run, whatever its pool, from now until it ends. */
export async function* followRunStates(
  runFolder: string,
  options: { clock: Clock; signal?: AbortSignal },
): AsyncGenerator<RunState, void, undefined> {
  yield* followRun(runFolder, { ...options, source: await poolSource(runFolder) });
}

/** What the run's pool tells of it beside its journals. */
async function poolSource(runFolder: string): Promise<EntrySource | undefined> {
  const isThere = (name: string): Promise<boolean> =>
    stat(path.join(runFolder, name)).then(
      () => true,
      () => false,
    );
  if (await isThere(condorFiles.submit)) return eventLogSource(runFolder, await readPlan(runFolder));
  return (await isThere(slurmFiles.script)) ? taskSource(runFolder, await readPlan(runFolder)) : undefined;
}
