import type { ResumeState } from './state.ts';

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
