import type { AttemptState, RunState } from '../journal/state.ts';

/** How often the pool has interrupted attempts of earlier runs: evicted them, or lost their machines. */
export interface Interruptions {
  attempts: number;
  interrupted: number;
  /** Of all attempts, from start to end. */
  seconds: number;
}

export function countInterruptions(states: readonly Pick<RunState, 'jobs'>[]): Interruptions {
  const ended = states.flatMap(({ jobs }) => jobs.flatMap(({ attempts }) => attempts)).filter(hasRun);
  const interrupted = ended.filter(({ outcome }) => outcome === 'evicted' || outcome === 'lost').length;
  const seconds = ended.reduce((sum, attempt) => sum + secondsOf(attempt), 0);
  return { attempts: ended.length, interrupted, seconds };
}

/** Seconds between interruptions; undefined if there was none. */
export const meanLife = ({ interrupted, seconds }: Interruptions): number | undefined =>
  interrupted === 0 || seconds === 0 ? undefined : seconds / interrupted;

/**
 * The share of its time that a training loses to saving and to work that it repeats, if it saves at the best moments
 * (Young, Daly) and a checkpoint takes `saveSeconds`.
 */
export const expectedLoss = (lifeSeconds: number, saveSeconds: number): number =>
  Math.min(1, Math.sqrt((2 * saveSeconds) / lifeSeconds));

const hasRun = ({ startedAt, endedAt }: AttemptState): boolean =>
  startedAt !== undefined && endedAt !== undefined;

const secondsOf = ({ startedAt = '', endedAt = '' }: AttemptState): number =>
  Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
