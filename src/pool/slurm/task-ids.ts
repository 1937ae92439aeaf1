import path from 'node:path';
import { runFiles } from '../../job/layout.ts';
import type { Entry } from '../../journal/entry.ts';
import { readJournal } from '../../journal/tail.ts';

/** A job's name in Slurm's queue. */
export interface TaskId {
  array: number;
  index: number;
}

export const taskName = ({ array, index }: TaskId): string => `${array}_${index}`;

/** The names under which Slurm has the jobs of a run by now; those that were never submitted have none. */
export async function latestTasks(runFolder: string): Promise<Map<string, TaskId>> {
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  return tasksOf(entries);
}

/** A job keeps its number in every array; of one that was submitted again the latest array counts. Pure. */
export function tasksOf(entries: readonly Entry[]): Map<string, TaskId> {
  const all = entries.find((entry) => entry.kind === 'run-created')?.jobs ?? [];
  const rounds = new Map<number, readonly string[]>([[1, all]]);
  const tasks = new Map<string, TaskId>();
  for (const entry of entries) {
    if (entry.kind === 'canary-set') rounds.set(1, all.slice(0, entry.rungs[0]));
    if (entry.kind === 'round-started') rounds.set(entry.round, entry.jobs);
    if (entry.kind !== 'submitted') continue;
    for (const job of rounds.get(entry.round ?? 1) ?? [])
      tasks.set(job, { array: entry.cluster, index: Number(job) });
  }
  return tasks;
}
