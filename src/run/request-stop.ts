import path from 'node:path';
import type { Clock } from '@updraft/base';
import { runFiles } from '../job/layout.ts';
import { openJournal } from '../journal/file.ts';
import { isOpen, type RunState } from '../journal/state.ts';
import { findJob } from './run-states.ts';

/**
 * Records in the journal that some jobs (all if none is named) shall stop. Returns the jobs that have to end; asking
 * twice changes nothing.
 */
export async function requestStop(
  runFolder: string,
  state: RunState,
  jobs: readonly string[],
  clock: Clock,
): Promise<string[]> {
  const named = new Set(jobs.map((word) => findJob(state, word)));
  const meant = state.jobs.filter((job) => isOpen(job) && (named.size === 0 || named.has(job)));
  if (meant.some(({ stopRequested }) => !stopRequested)) {
    await using journal = await openJournal(path.join(runFolder, runFiles.journal), clock);
    const asked = jobs.length === 0 ? 'all' : meant.map(({ id }) => id);
    await journal.append({ kind: 'stop-requested', jobs: asked });
  }
  return meant.map(({ id }) => id);
}
