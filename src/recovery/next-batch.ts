import type { RunState } from '../journal/state.ts';

/**
 * The jobs that may go ahead now because all before them have a valid result; none while a rung is under way, after
 * one that failed, or when nobody is kept back. Pure.
 */
export function nextBatch({ canary, jobs }: Pick<RunState, 'canary' | 'jobs'>): string[] {
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
