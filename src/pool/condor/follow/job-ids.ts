import type { Entry } from '../../../journal/entry.ts';

/**
 * HTCondor's name (`CLUSTER.PROC`) of every job that was submitted, by the run's journal; of a job that was
 * submitted again, each of its names, the latest last. Pure.
 */
export function jobIds(entries: readonly Entry[], jobs: readonly string[]): Map<string, string[]> {
  const rounds = new Map<number, readonly string[]>([[1, jobs]]);
  const names = new Map<string, string[]>();
  for (const entry of entries) {
    if (entry.kind === 'round-started') rounds.set(entry.round, entry.jobs);
    if (entry.kind !== 'submitted') continue;
    for (const [proc, job] of (rounds.get(entry.round ?? 1) ?? []).entries())
      names.set(job, [...(names.get(job) ?? []), `${entry.cluster}.${proc}`]);
  }
  return names;
}
