import type { Disconnected } from './state.ts';
import type { ResumeState } from './agent-state.ts';

/** `step 40`, `epoch 3`, `epoch 3, step 40`; empty if neither is known. */
export function describePosition({ epoch, step }: { epoch?: number; step?: number }): string {
  const parts = [
    ...(epoch === undefined ? [] : [`epoch ${epoch}`]),
    ...(step === undefined ? [] : [`step ${step}`]),
  ];
  return parts.join(', ');
}

/** Where an attempt resumed, in a few words. */
export function describeResume({ movedOn, savedBy, ...position }: ResumeState): string {
  const where = describePosition(position) || 'the checkpoint';
  return movedOn === false
    ? `started from scratch, although it had ${where} of attempt ${savedBy}`
    : `resumed from ${where} of attempt ${savedBy}`;
}

/** `2026-11-15 22:03:04 UTC`. */
const shown = (time: string): string => `${time.slice(0, 19).replace('T', ' ')} UTC`;

/** Since when the machine of an attempt is disconnected, and when the pool gives up. */
export const describeConnection = ({ since, until }: Disconnected): string =>
  `disconnected since ${shown(since)}; the pool gives up at ${shown(until)}`;
