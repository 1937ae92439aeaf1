import { savesOf } from '../journal/fold-agent.ts';
import type { AttemptState, RunState } from '../journal/state.ts';

/** How often the pool has interrupted attempts of earlier runs: evicted them, or lost their machines. */
export interface Interruptions {
  attempts: number;
  interrupted: number;
  /** Of all attempts, from start to end. */
  seconds: number;
  /** What a checkpoint of earlier runs of the same name took. */
  saveSeconds?: number;
}

export function countInterruptions(states: readonly Pick<RunState, 'jobs'>[]): Interruptions {
  const ended = states.flatMap(({ jobs }) => jobs.flatMap(({ attempts }) => attempts)).filter(hasRun);
  const interrupted = ended.filter(({ ending }) => ending === 'evicted' || ending === 'lost').length;
  const seconds = ended.reduce((sum, attempt) => sum + secondsOf(attempt), 0);
  return { attempts: ended.length, interrupted, seconds };
}

/** Seconds between interruptions; undefined if there was none. */
export const meanLife = ({ interrupted, seconds }: Interruptions): number | undefined =>
  interrupted === 0 || seconds === 0 ? undefined : seconds / interrupted;

/** Seconds between checkpoints that cost least (Young, Daly). */
const bestInterval = (lifeSeconds: number, saveSeconds: number): number =>
  Math.sqrt(2 * saveSeconds * lifeSeconds);

/**
 * The share of its time that a training loses to saving and to work that it repeats, if a checkpoint takes
 * `saveSeconds` and there is one every `everySeconds`.
 */
export const expectedLoss = (
  lifeSeconds: number,
  saveSeconds: number,
  everySeconds = bestInterval(lifeSeconds, saveSeconds),
): number =>
  everySeconds === 0 ? 0 : Math.min(1, saveSeconds / everySeconds + everySeconds / (2 * lifeSeconds));

/** Seconds that trainings waited for each checkpoint of `updraft`; undefined if none reported one. */
export function meanSaveSeconds(states: readonly Pick<RunState, 'jobs'>[]): number | undefined {
  const saved = states
    .flatMap(({ jobs }) => jobs.flatMap(({ attempts }) => attempts))
    .flatMap(({ agent }) => savesOf(agent?.training) ?? []);
  const saves = saved.reduce((sum, one) => sum + one.saves, 0);
  return saves === 0 ? undefined : saved.reduce((sum, { seconds }) => sum + seconds, 0) / saves;
}

const hasRun = ({ startedAt, endedAt }: AttemptState): boolean =>
  startedAt !== undefined && endedAt !== undefined;

const secondsOf = ({ startedAt = '', endedAt = '' }: AttemptState): number =>
  Math.max(0, Date.parse(endedAt) - Date.parse(startedAt)) / 1000;
