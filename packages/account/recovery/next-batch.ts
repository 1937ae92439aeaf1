import type { JobState, RunState } from '../journal/state.ts';

type QueuedJob = Pick<JobState, 'id' | 'outcome' | 'isKeptBack'>;

/**
 * The jobs to queue now because all before them have a valid result; none while a batch is running, after one that
 * failed, or if no job is kept back. Pure.
 */
export function nextBatch({
  canary,
  jobs,
}: Pick<RunState, 'canary'> & { jobs: readonly QueuedJob[] }): string[] {
  const kept = jobs.filter(({ isKeptBack }) => isKeptBack);
  const ahead = jobs.filter(({ isKeptBack }) => !isKeptBack);
  if (!ahead.every(({ outcome }) => outcome === 'success')) return [];
  let sum = 0;
  for (const batch of canary ?? []) {
    sum += batch;
    if (sum > ahead.length) return kept.slice(0, sum - ahead.length).map(({ id }) => id);
  }
  return kept.map(({ id }) => id);
}
