import { given } from '@updraft/base';
import type { Disconnected } from './state.ts';
import type { JobHistory } from '../history/history.ts';
import type { ResumeState } from './agent-state.ts';
import type { RungReport } from './entry.ts';

/** `step 40`, `epoch 3`, `epoch 3, step 40`; empty if neither is known. */
export function describePosition({ epoch, step }: { epoch?: number; step?: number }): string {
  const parts = given(epoch !== undefined && `epoch ${epoch}`, step !== undefined && `step ${step}`);
  return parts.join(', ');
}

/** Where an attempt resumed, in a few words. */
export function describeResume({ movedOn, savedBy, ...position }: ResumeState): string {
  const where = describePosition(position) || 'the checkpoint';
  return movedOn === false
    ? `started from scratch, although it had ${where} of attempt ${savedBy}`
    : `resumed from ${where} of attempt ${savedBy}`;
}

/** The rung at which a trial was stopped early; undefined if it was not, or has no valid result. */
export const stoppedEarly = ({ attempts, outcome }: Pick<JobHistory, 'attempts' | 'outcome'>) =>
  outcome === 'success' && attempts.at(-1)?.agent?.stoppedEarly === true ? lastRung({ attempts }) : undefined;

/** The last rung that a trial has reached. */
export const lastRung = ({ attempts }: Pick<JobHistory, 'attempts'>): RungReport | undefined =>
  attempts.flatMap(({ agent }) => agent?.training?.rungs ?? []).at(-1);

/** `rung 2, place 14 of 20 (epoch 3, val_accuracy 0.41)`: columns cut the end. */
export const describeRung = ({ rung, at, unit, metric, value, seen, better, unheard }: RungReport) =>
  `rung ${rung}, place ${better + 1} of ${seen} (${unit.slice(0, -1)} ${at}, ${metric} ` +
  `${Number(value.toPrecision(4))}${unheard ? ', its note did not reach the access point' : ''})`;

/** `2026-11-15 22:03:04 UTC`. */
const shown = (time: string): string => `${time.slice(0, 19).replace('T', ' ')} UTC`;

/** Since when the machine of an attempt is disconnected, and when the pool gives up. */
export const describeConnection = ({ since, until }: Disconnected): string =>
  `disconnected since ${shown(since)}; the pool gives up at ${shown(until)}`;
