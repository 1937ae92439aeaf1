import type { JobState, RunState } from '../journal/state.ts';

type QueuedJob = Pick<JobState, 'id' | 'outcome' | 'isKeptBack' | 'atRung'>;

/**
 * The jobs to queue now because all before them have a valid result; none while a batch is running, after one that
 * failed, or if no job is kept back. Pure.
 */
export function nextBatch({
  canary,
  jobs,
}: Pick<RunState, 'canary'> & { jobs: readonly QueuedJob[] }): string[] {
  const isQueued = ({ isKeptBack, atRung }: QueuedJob): boolean => !isKeptBack || atRung !== undefined;
  const kept = jobs.filter((job) => !isQueued(job));
  const ahead = jobs.filter(isQueued);
  if (!ahead.every(({ outcome, atRung }) => outcome === 'success' || atRung !== undefined)) return [];
  let sum = 0;
  for (const batch of canary ?? []) {
    sum += batch;
    if (sum > ahead.length) return kept.slice(0, sum - ahead.length).map(({ id }) => id);
  }
  return kept.map(({ id }) => id);
}

/** The trials that a new round of their search has to judge, because none is on its way to its rung. Pure. */
export const trialsAtRung = (jobs: readonly JobState[]): JobState[] =>
  jobs.every(({ status, isKeptBack }) => status === 'ended' || isKeptBack)
    ? jobs.filter(({ atRung }) => atRung !== undefined)
    : [];
