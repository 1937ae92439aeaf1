import type { Progress } from './entry.ts';

/** How much of a training is done, from 0 to 1, if it reports that. The reported epoch is in progress until its steps are done. */
export function trainingShare({ epoch, epochs, done = 0, step, steps }: Progress): number | undefined {
  const within =
    step !== undefined && steps !== undefined && steps > 0 ? clampShare(step / steps) : undefined;
  if (epochs === undefined || epochs <= 0) return epoch === undefined ? within : undefined;
  return epoch === undefined ? undefined : clampShare(Math.max(done, epoch - 1 + (within ?? 0)) / epochs);
}

export const clampShare = (share: number): number => Math.min(1, Math.max(0, share));
