import path from 'node:path';
import { runsFolder } from '../job/layout.ts';
import type { Plan } from '../job/plan.ts';
import type { AttemptState, RunState } from '../journal/state.ts';
import { listRuns } from './list-runs.ts';
import { readRunOutline } from './run-states.ts';

/** How often the pool has interrupted attempts of earlier runs: evicted them, or lost their machines. */
export interface Interruptions {
  attempts: number;
  interrupted: number;
  /** Of all attempts, from start to end. */
  seconds: number;
}

/** Older ones say little about the pool of today. */
const maxRuns = 20;

/** From the latest runs in the plan's folder on the same pool; a rehearsal evicts on purpose and does not count. */
export async function earlierInterruptions({ folder, spec }: Plan): Promise<Interruptions> {
  const runs = await listRuns(path.join(folder, runsFolder)).catch(() => []);
  const same = runs.filter(({ pool, isRehearsal }) => pool === spec.run.pool && !isRehearsal);
  const states = await Promise.all(
    same.slice(0, maxRuns).map((run) => readRunOutline(run.folder).catch(() => undefined)),
  );
  return countInterruptions(states.filter((state) => state !== undefined));
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
