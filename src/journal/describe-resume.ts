import type { ResumeState } from './state.ts';

/** `step 40`, `epoch 3`, `epoch 3, step 40`; empty where nothing was told. */
export function describePosition({ epoch, step }: { epoch?: number; step?: number }): string {
  const parts = [
    ...(epoch === undefined ? [] : [`epoch ${epoch}`]),
    ...(step === undefined ? [] : [`step ${step}`]),
  ];
  return parts.join(', ');
}

/** From what an attempt resumed, in a few words. */
export function describeResume({ movedOn, savedBy, ...position }: ResumeState): string {
  const where = describePosition(position) || 'the checkpoint';
  return movedOn === false
    ? `began again from nothing, in spite of ${where} of attempt ${savedBy}`
    : `resumed from ${where} of attempt ${savedBy}`;
}
