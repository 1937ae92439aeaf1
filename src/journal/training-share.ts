import type { Progress } from './entry.ts';

/** How much of a training is done, from 0 to 1, if it reports that. The reported epoch is in progress until its steps are done. */
export function trainingShare(progress: Progress): number | undefined {
  const { epoch, epochs } = progress;
  if (epochs === undefined || epochs <= 0)
    return epoch === undefined ? shareOfEpoch(progress, progress.steps) : undefined;
  const done = epochsDone(progress);
  return done === undefined ? undefined : clampShare(done / epochs);
}

/** How many epochs are done, with the part of the current one; undefined if it reports no epochs. */
export const epochsDone = (progress: Progress, steps = progress.steps): number | undefined =>
  progress.epoch === undefined
    ? undefined
    : Math.max(progress.done ?? 0, progress.epoch - 1 + (shareOfEpoch(progress, steps) ?? 0));

const shareOfEpoch = ({ step }: Progress, steps: number | undefined): number | undefined =>
  step !== undefined && steps !== undefined && steps > 0 ? clampShare(step / steps) : undefined;

export const clampShare = (share: number): number => Math.min(1, Math.max(0, share));
