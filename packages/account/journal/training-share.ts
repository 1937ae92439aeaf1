import type { Progress } from './entry.ts';

/**
 * How much of a training is done, from 0 to 1, if it reports that. The reported epoch is in progress until its
 * steps are done.
 */
export function trainingShare(progress: Progress): number | undefined {
  const { epoch, epochs, firstEpoch } = progress;
  if (epochs === undefined || epochs <= 0)
    return epoch === undefined ? shareOfEpoch(progress, progress.steps) : undefined;
  const done = epochsDone(progress);
  // The last of `Epoch 0/9` may be 8 or 9.
  const all = firstEpoch === 0 ? Math.max(epochs, (epoch ?? 0) + 1) : epochs;
  return done === undefined ? undefined : clampShare(done / all);
}

/** How many epochs are done, with the part of the current one; undefined if it reports no epochs. */
export function epochsDone(progress: Progress, { steps, firstEpoch = 1 } = progress): number | undefined {
  const { epoch, done = -1 } = progress;
  if (epoch === undefined) return undefined;
  const counted = Math.max(done, epoch - 1 + (shareOfEpoch(progress, steps) ?? 0));
  return Math.max(0, counted + 1 - firstEpoch);
}

const shareOfEpoch = ({ step }: Progress, steps: number | undefined): number | undefined =>
  step !== undefined && steps !== undefined && steps > 0 ? clampShare(step / steps) : undefined;

export const clampShare = (share: number): number => Math.min(1, Math.max(0, share));
