import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { runFiles } from '../job/layout.ts';
import { followRun } from '../journal/follow-run.ts';
import { loadRun, type EntrySource } from '../journal/load-run.ts';
import { readJournal } from '../journal/tail.ts';
import type { RunState } from '../journal/state.ts';
import { poolKind } from '../pool/open-pool.ts';
import { readPlan } from '../pool/read-plan.ts';

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

/** What the run's pool has to say of it beside its journals. */
async function poolSource(runFolder: string): Promise<EntrySource | undefined> {
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  const created = entries.find((entry) => entry.kind === 'run-created');
  // A journal may have lost its beginning; a copy of a run may have lost its plan.
  const name = created?.pool ?? (await readPlan(runFolder).catch(() => undefined))?.spec.run.pool;
  return name === undefined ? undefined : await poolKind(name)?.source(runFolder);
}
