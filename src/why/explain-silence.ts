import { causeTitle } from '../codes/causes.ts';
import type { Explanation } from '../diagnosis/explanation.ts';
import { formatDuration } from '@updraft/base';
import type { Entry } from '../journal/entry.ts';
import type { JobState } from '../journal/state.ts';
import { silence } from '../journal/silence.ts';
import { timeText } from './checkpoint-sentences.ts';

export interface SilentRecord {
  job: JobState;
  entries: readonly { entry: Entry }[];
  /** The scheduler that has the jobs in its queue. */
  queue?: string | undefined;
  /** Milliseconds since the epoch; without it, nothing is said about silence. */
  now?: number;
}

/** About an attempt that runs, but whose agent has not reported for too long; undefined otherwise. */
export function explainSilence({
  job,
  entries,
  queue,
  now,
}: SilentRecord): Pick<Explanation, 'cause' | 'title' | 'because' | 'advice'> | undefined {
  const last = job.attempts.at(-1);
  if (now === undefined || job.status !== 'running' || last?.agent === undefined) return undefined;
  const quiet = silence(last, now);
  if (quiet === undefined) return undefined;
  const started = entries.findLast(
    ({ entry }) => entry.kind === 'agent-started' && entry.attempt === last.attempt,
  )?.entry;
  const pid = queue === undefined && started?.kind === 'agent-started' ? started.pid : undefined;
  const giveUp = 'give it up with `updraft stop`, then start it again with `updraft retry`';
  return {
    cause: 'agent-silent',
    title: causeTitle('agent-silent'),
    because: [
      `Attempt ${last.attempt} at ${last.agent.site ?? last.agent.host} was ${last.agent.phase} when its agent last reported, at ${timeText(last.agent.lastAt)}: ${formatDuration(Math.floor(quiet / 1000))} ago.`,
    ],
    advice:
      pid === undefined
        ? [`Its machine may be cut off or overloaded: wait, or ${giveUp}.`]
        : [
            `See what its process does: \`ps -o stat,cmd -p ${pid}\`. If it begins with T, it was stopped: \`kill -CONT ${pid}\` lets it go on.`,
            `If it does not go on: ${giveUp}.`,
          ],
  };
}
