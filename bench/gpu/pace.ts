import type { TimedLine } from './follow-lines.ts';

/** A training's progress at a moment, as it printed it. */
interface Mark {
  at: number;
  epoch: number;
  seen: number;
}

/** The progress lines of an example's training, in images or batches; the first comes after the first batch. */
export function marksOf(lines: TimedLine[]): Mark[] {
  return lines.flatMap(({ at, text }) => {
    const line = /^(?:Train )?epoch:? (\d+)\/\d+(?: \[(\d+)\/|, step (\d+)\/\d+ of (\d+) images)/i;
    const [, epoch, images, step, batchSize] = line.exec(text) ?? [];
    if (epoch === undefined) return [];
    return [{ at, epoch: Number(epoch), seen: Number(images ?? Number(step) * Number(batchSize)) }];
  });
}

/** Images per second between two moments, without the time between epochs (tests, validation, checkpoints). */
export function paceOf(marks: Mark[], from: number, to: number): number | undefined {
  let [images, ms] = [0, 0];
  for (const [index, mark] of marks.entries()) {
    const last = marks[index - 1];
    if (last === undefined || last.epoch !== mark.epoch || last.at < from || mark.at > to) continue;
    images += mark.seen - last.seen;
    ms += mark.at - last.at;
  }
  return ms === 0 ? undefined : (1000 * images) / ms;
}
