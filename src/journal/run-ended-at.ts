import type { JobState } from './state.ts';

/**
 * When a run ended; undefined while it has not. It has when every job has, and also when all that went ahead have
 * and one of them failed: then those that are kept back stay so. Pure.
 */
export function runEndedAt(jobs: readonly JobState[]): string | undefined {
  const ended = jobs.filter(({ status }) => status === 'ended');
  const left = jobs.filter(({ status }) => status !== 'ended');
  if (ended.length === 0 || !left.every(({ isKeptBack }) => isKeptBack)) return undefined;
  if (left.length > 0 && ended.every(({ outcome }) => outcome === 'success')) return undefined;
  return ended.map(({ endedAt }) => endedAt ?? '').reduce((a, b) => (a > b ? a : b));
}
