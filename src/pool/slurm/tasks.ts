import path from 'node:path';
import type { Clock } from '@updraft/base';
import { runFiles } from '@updraft/account/run-folder';
import { type Entry, readJournal } from '@updraft/account/journal';
import type { SlurmTools } from './slurm-tools.ts';

/** A job's id in Slurm's queue. */
export interface TaskId {
  array: number;
  index: number;
}

export const taskName = ({ array, index }: TaskId): string => `${array}_${index}`;

/** Slurm's current ids of a run's jobs; jobs never submitted have none. */
export async function latestTasks(runFolder: string): Promise<Map<string, TaskId>> {
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  return tasksOf(entries);
}

/** A job keeps its index in every array; of a resubmitted job the latest array counts. Pure. */
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

/** Indices for `sbatch --array` and `scancel`, such as `0-9,12`; shortest if ascending. */
export function arrayIndices(numbers: readonly number[]): string {
  const spans: [from: number, to: number][] = [];
  for (const number of numbers) {
    const last = spans.at(-1);
    if (last?.[1] === number - 1) last[1] = number;
    else spans.push([number, number]);
  }
  return spans.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(',');
}

/** The indices that squeue shows as `3`, `0-9,12` or `[0-9,12%4]`: waiting jobs share one line. */
export function expandIndices(text: string): number[] {
  return text
    .replaceAll(/[[\]]|%\d+/g, '')
    .split(',')
    .flatMap((span) => {
      const [from = NaN, to = from] = span.split('-').map((word) => Number.parseInt(word, 10));
      if (Number.isNaN(from) || Number.isNaN(to)) return [];
      return Array.from({ length: to - from + 1 }, (_, index) => from + index);
    });
}

/** Cancels jobs: waiting ones leave the queue, running ones are asked to end. */
export async function stopTasks(tools: SlurmTools, tasks: readonly TaskId[]): Promise<void> {
  for (const name of taskExpressions(tasks))
    await tools.ask('scancel', [name]).catch((error: unknown) => {
      // Jobs that have left the queue need no cancelling.
      if (!/invalid job id|already completing or completed/i.test(String(error))) throw error;
    });
}

/** Several jobs of an array in one argument for Slurm's commands: `12_[0-9,14]`. */
export function taskExpressions(tasks: readonly TaskId[]): string[] {
  const arrays = Map.groupBy(tasks, ({ array }) => array);
  return [...arrays].map(([array, its]) => {
    const indices = its.map(({ index }) => index).sort((a, b) => a - b);
    return `${array}_[${arrayIndices(indices)}]`;
  });
}

const pollMs = 500;

/** Takes a job off its node: Slurm ends and requeues it. */
export async function evictTask(tools: SlurmTools, name: string, clock: Clock): Promise<void> {
  await tools.ask('scontrol', ['requeue', name]);
  const deadline = clock.monotonic() + tools.timeoutMs;
  while ((await tools.ask('squeue', ['-h', '-r', '-j', name, '-o', '%T'])).trim() !== 'PENDING') {
    if (clock.monotonic() > deadline) return;
    await clock.sleep(pollMs);
  }
  // Skips Slurm's delay of two minutes, which is for nodes in trouble.
  await tools.ask('scontrol', ['update', `JobId=${name}`, 'StartTime=now']);
}
