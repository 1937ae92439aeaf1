import { formatSize } from '../job/units.ts';
import { describePosition, describeResume } from '../journal/describe-attempt.ts';
import { refusedSentence } from '../journal/metrics.ts';
import type { AttemptState } from '../journal/state.ts';
import { safeLine } from '../diagnosis/quote-event.ts';

/** From what an attempt resumed, what it saved, and which of its metrics are not kept. */
export function attemptSentences(attempt: AttemptState | undefined): string[] {
  const { resumed, refused = [], checkpoint, training } = attempt?.agent ?? {};
  const sentences = refused.map((reason) => `A checkpoint was not used: ${safeLine(reason)}.`);
  if (resumed !== undefined) {
    const proof = resumed.movedOn === true ? ', and has passed it' : '';
    sentences.push(`It ${describeResume(resumed)}${proof}.`);
    if (resumed.otherCode === true)
      sentences.push('That checkpoint was saved by a different command or with different files.');
  }
  if (checkpoint !== undefined) {
    const where = describePosition(checkpoint);
    const size = formatSize(checkpoint.bytes);
    sentences.push(
      `Its last checkpoint${where === '' ? '' : ` (${where})`} was saved at ${timeText(checkpoint.savedAt)}, ${size}.`,
    );
  }
  return [...sentences, ...(training?.refused ?? []).map((one) => safeLine(refusedSentence(one)))];
}

/** A journal's time, to the second. */
export const timeText = (at: string): string => at.replace(/^(.{10})T(.{8})(?:\.\d+)?Z$/, '$1 $2 UTC');

/** For a training that ignores its checkpoint. */
export function checkpointAdvice(attempt: AttemptState | undefined): string[] {
  if (attempt?.agent?.resumed?.movedOn !== false) return [];
  return [
    'The training started fresh although a checkpoint was there: make it load the checkpoint from the folder that UPDRAFT_CHECKPOINT names.',
  ];
}
