import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { Fault } from '../fault/fault.ts';
import { runFiles } from '../job/layout.ts';
import { openJournal } from '../journal/file.ts';
import type { RunState } from '../journal/state.ts';

/**
 * Writes into the journal that some jobs (all when none is named) shall stop. Gives the jobs that have to end for
 * it; asking again for what was asked already changes nothing.
 */
export async function requestStop(
  runFolder: string,
  state: RunState,
  jobs: readonly string[],
  clock: Clock,
): Promise<string[]> {
  const unknown = jobs.filter((id) => !state.jobs.some((job) => job.id === id));
  if (unknown.length > 0)
    throw new Fault('usage', `${path.basename(runFolder)} has no job ${unknown.join(', ')}`, {
      fix: `name jobs from ${state.jobs[0]?.id ?? ''} to ${state.jobs.at(-1)?.id ?? ''}`,
      about: unknown.join(', '),
    });
  const meant = state.jobs.filter(
    ({ id, status }) => status !== 'ended' && (jobs.length === 0 || jobs.includes(id)),
  );
  if (meant.some(({ stopRequested }) => !stopRequested)) {
    await using journal = await openJournal(path.join(runFolder, runFiles.journal), clock);
    const asked = jobs.length === 0 ? 'all' : meant.map(({ id }) => id);
    await journal.append({ kind: 'stop-requested', jobs: asked });
  }
  return meant.map(({ id }) => id);
}
