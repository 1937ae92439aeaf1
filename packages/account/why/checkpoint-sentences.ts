import { formatDuration, formatSize, given } from '@updraft/base';
import { describePosition, describeResume } from '../journal/describe-attempt.ts';
import { slownessOf } from '../history/slowness.ts';
import { refusedSentence } from '../journal/metrics.ts';
import type { AttemptState } from '../journal/state.ts';
import { safeLine } from '../diagnosis/quote-event.ts';

/** From what an attempt resumed, what it saved, which of its metrics are not kept, and what made it slow. */
export function attemptSentences(attempt: AttemptState | undefined): string[] {
  const { resumed, refused = [], checkpoint, training } = attempt?.agent ?? {};
  const sentences = refused.map((reason) => `A checkpoint was not used: ${safeLine(reason)}.`);
  if (resumed !== undefined) {
    const proof = resumed.movedOn === true ? ', and has passed it' : '';
    sentences.push(`It ${describeResume(resumed)}${proof}.`);
    if (resumed.otherCode === true)
      sentences.push('That checkpoint was saved by a different command or with different files.');
  }
  if (attempt !== undefined && checkpoint !== undefined) {
    const where = describePosition(checkpoint);
    const size = formatSize(checkpoint.bytes);
    const named = `Its last checkpoint${where === '' ? '' : ` (${where})`}`;
    sentences.push(`${named} was saved at ${timeText(checkpoint.savedAt)}, ${size}${lostAfter(attempt)}.`);
  }
  const slow = attempt && slownessOf(attempt);
  return given(
    ...sentences,
    ...(training?.refused ?? []).map((one) => safeLine(refusedSentence(one))),
    slow !== undefined && `It was slow: ${slow.figures}.`,
  );
}

/** What an attempt that was cut short did after its last checkpoint, by its agent's clock. */
function lostAfter({ ending, agent }: AttemptState): string {
  const isCut = (ending === 'evicted' || ending === 'lost') && agent?.phase === 'training';
  const since = Date.parse(agent?.lastAt ?? '') - Date.parse(agent?.checkpoint?.savedAt ?? '');
  return isCut && since >= 1000
    ? `; ${formatDuration(Math.floor(since / 1000))} of work after it were lost`
    : '';
}

/** A journal's time, to the second. */
export const timeText = (at: string): string => at.replace(/^(.{10})T(.{8})(?:\.\d+)?Z$/, '$1 $2 UTC');

/** For a training that ignores its checkpoint, or is slow. */
export function attemptAdvice(attempt: AttemptState | undefined): string[] {
  const slow = attempt && slownessOf(attempt);
  const faster = slow === undefined ? [] : [slow.advice];
  if (attempt?.agent?.resumed?.movedOn !== false) return faster;
  return [
    ...faster,
    'The training started fresh although a checkpoint was there: make it load the checkpoint from the ' +
      'folder that UPDRAFT_CHECKPOINT names.',
  ];
}
