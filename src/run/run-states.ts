import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { runFiles } from '../job/layout.ts';
import { followRun } from '../journal/follow-run.ts';
import type { EntrySource } from '../journal/entry-source.ts';
import { loadRun } from '../journal/load-run.ts';
import { readJournal } from '../journal/read-journal.ts';
import type { RunState } from '../journal/state.ts';
import { poolKind } from '../pool/open-pool.ts';

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
  return await poolKind(created?.pool ?? '')?.source(runFolder);
}
