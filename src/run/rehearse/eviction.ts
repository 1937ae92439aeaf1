import { defined } from '@updraft/base';
import { metricsOf } from '../../journal/metrics.ts';
import type { AgentState, AttemptState, TrainingState } from '../../journal/state.ts';

/** How far an attempt got. */
export interface ReachedPoint {
  bytes: number;
  total?: number;
  epoch?: number;
  step?: number;
}

/** An eviction, and how long it took until the job was as far again. Milliseconds of one clock. */
export interface Eviction {
  during: 'transfer' | 'training';
  attempt: number;
  at: number;
  reached: ReachedPoint;
  /** When a later attempt got as far; undefined if none has. */
  backAt?: number;
}

export function reachedPoint({ agent }: AttemptState): ReachedPoint {
  const fetches = agent?.fetches ?? [];
  const total = fetches.every((fetch) => fetch.total !== undefined)
    ? fetches.reduce((sum, fetch) => sum + (fetch.total ?? 0), 0)
    : undefined;
  const { epoch, step }: Partial<TrainingState> = agent?.training ?? {};
  return { bytes: fetches.reduce((sum, { bytes }) => sum + bytes, 0), ...defined({ total, epoch, step }) };
}

/** Whether the attempt is transferring data, and has some of it. */
export function isInTransfer({ phase, agent, outcome }: AttemptState): boolean {
  if (outcome !== undefined || agent === undefined) return false;
  return (phase === 'fetching' || phase === 'unpacking') && agent.fetches.some(({ bytes }) => bytes > 0);
}

/** An epoch may take hours: after this long, a checkpoint within it is also something to lose. */
const longEpochMs = 60_000;

/** A training that reports no epochs is not evicted at its very first sign of progress. */
const minTrainingMs = 10_000;

/** Whether the training has saved or reported anything: one that has not may still be starting. */
export const hasShownProgress = ({
  training = {},
  checkpoint,
}: Pick<AgentState, 'checkpoint'> & {
  training?: Partial<TrainingState>;
}): boolean =>
  checkpoint !== undefined ||
  (training.epoch ?? training.step) !== undefined ||
  Object.keys(metricsOf(training)).length > 0;

/**
 * Whether the attempt trains and has something to lose: a second epoch, a checkpoint in a long first one, or, if the
 * training reports no epochs, a checkpoint, a step or a metric. Time alone says nothing: imports may take minutes.
 */
export function hasTrainingToLose({ phase, agent, outcome }: AttemptState): boolean {
  if (outcome !== undefined || agent === undefined || phase !== 'training') return false;
  const { training, checkpoint, millis } = agent;
  if ((training?.epoch ?? 0) >= 2) return true;
  if (training?.epoch === undefined) return hasShownProgress(agent) && millis.training >= minTrainingMs;
  return checkpoint !== undefined && millis.training >= longEpochMs;
}

/** Whether a later attempt got as far as the evicted one. */
export function hasCaughtUp(eviction: Eviction, later: AttemptState): boolean {
  if (later.attempt <= eviction.attempt) return false;
  const now = reachedPoint(later);
  const { bytes, epoch, step } = eviction.reached;
  if (eviction.during === 'transfer') return now.bytes >= bytes || later.phase === 'training';
  if (later.outcome === 'success') return true;
  if (epoch === undefined && step === undefined) return later.phase === 'training';
  return comparePoints(now, { epoch, step }) >= 0 && later.agent?.training !== undefined;
}

/** By epoch, then by step; a missing value counts as 0. */
export function comparePoints(
  a: { epoch?: number | undefined; step?: number | undefined },
  b: { epoch?: number | undefined; step?: number | undefined },
): number {
  return (a.epoch ?? 0) - (b.epoch ?? 0) || (a.step ?? 0) - (b.step ?? 0);
}
