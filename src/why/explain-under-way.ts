import type { Diagnosis } from '../diagnosis/diagnose.ts';
import { adviceOf, explained, nothingWrong, reconnects } from './explained.ts';
import type { Explanation } from '../diagnosis/explanation.ts';
import type { AttemptHistory, Doing, JobHistory } from '../history/history.ts';
import { placeOf } from '../history/place.ts';
import { connectionWords } from '../journal/connection-words.ts';
import { usualLeaseSeconds } from '../recovery/policy.ts';
import { detailsOf, describeStreaks, type Streak } from './past-attempts.ts';
import { showSpan } from './show-span.ts';
import { doneAboutLoop, doneAboutWaiting, type RunRules } from './what-is-done.ts';

/** Enough in a row to say that it will go on so. */
const loopLength = 3;
const passingCauses: ReadonlySet<Diagnosis['cause']> = new Set(['evicted', 'disconnected', 'silent-end']);

export function loopOf(streaks: readonly Streak[]): Streak | undefined {
  const last = streaks.at(-1);
  const end = last?.last.details?.end;
  if (last === undefined || end?.how === 'exited' || passingCauses.has(last.diagnosis.cause))
    return undefined;
  // A subcode of -1000 and below makes HTCondor put the job back and never hold it.
  const neverHolds = end?.how === 'vacated' && (end.subcode ?? 0) <= -1000;
  return last.to - last.from + 1 >= (neverHolds ? 2 : loopLength) ? last : undefined;
}

/** A job that starts over and over. */
export function explainLoop(
  job: JobHistory,
  loop: Streak,
  streaks: readonly Streak[],
  rules: RunRules | undefined,
): Explanation {
  const { diagnosis, from, to, first, last } = loop;
  const count = to - from + 1;
  const span = showSpan(first.details?.from, last.details?.to);
  const past = describeStreaks(streaks.slice(0, -1));
  return explained(job, 'looping', diagnosis, {
    because: [
      ...diagnosis.because,
      `It has ended so ${count} times in a row${span === '' ? '' : ` within ${span}`}, the last time at ${placeOf(last) || 'an unnamed machine'}.`,
      ...past.because,
    ],
    evidence: [first, last].flatMap(({ details }) => details?.end?.evidence ?? []),
    doing: doneAboutLoop(count, rules),
    advice: [...adviceOf(diagnosis, rules), `Stop it until that is fixed: condor_hold ${job.id}`],
  });
}

const whileDoing: Record<Doing, string> = {
  queue: 'waits for its turn to receive its input',
  input: 'receives its input',
  stalled: 'receives its input, which stands still',
  unpacking: 'unpacks its input',
  starting: 'has its input and starts',
  starved: 'runs its program, which waits for data',
  executing: 'runs its program',
  silent: 'runs its program',
  output: 'brings its output back',
  suspended: 'is suspended on its machine',
  'cut-off': 'has lost the connection to its machine, and HTCondor tries to find it again',
};

/** A job on a slot, as far as the log goes. */
export function explainRunning(
  job: JobHistory,
  last: AttemptHistory,
  streaks: readonly Streak[],
  rules: RunRules | undefined,
): Explanation {
  const { doing = 'executing', began, to = job.to } = last.details ?? {};
  const details = detailsOf(job);
  const past = describeStreaks(streaks);
  const place = placeOf(last);
  const cause = doing === 'cut-off' ? 'disconnected' : 'none';
  const explanation = explained(
    job,
    'running',
    { ...nothingWrong, cause },
    {
      because: [
        `Attempt ${last.number}${place === '' ? '' : ` at ${place}`} ${whileDoing[doing]}, as far as the log goes (${details.last.at}).`,
        ...past.because,
        ...reconnects(job),
      ],
      evidence: [
        ...past.evidence,
        ...(began === undefined || began === details.last ? [] : [began]),
        details.last,
      ],
      doing: [
        doing === 'cut-off'
          ? `${lostSentence(to, rules)} If HTCondor does not reach it by then, the job goes back into the queue.`
          : 'The attempt is under way.',
      ],
      advice: doing === 'executing' ? [`See the latest that it printed: condor_tail ${job.id}`] : [],
    },
  );
  return cause === 'none' ? { ...explanation, title: 'an attempt is under way' } : explanation;
}

function lostSentence(since: number, rules: RunRules | undefined): string {
  const lease = rules?.policy.leaseSeconds ?? usualLeaseSeconds;
  const [from, until] = [since, since + lease * 1000].map((time) => new Date(time).toISOString());
  const words = connectionWords({ since: from ?? '', until: until ?? '' });
  const usual = rules === undefined ? ', where its submit file sets no other job_lease_duration' : '';
  return `D${words.slice(1)}${usual}.`;
}

/** A job without a slot. */
export function explainWaiting(
  job: JobHistory,
  streaks: readonly Streak[],
  rules: RunRules | undefined,
): Explanation {
  const past = describeStreaks(streaks);
  const last = streaks.at(-1);
  const { first, releases } = detailsOf(job);
  const release = releases.at(-1);
  const analyze = `Ask the scheduler what it waits for: condor_q -better-analyze ${job.id}`;
  if (last === undefined)
    return explained(
      job,
      'waiting',
      { ...nothingWrong, cause: 'waits-for-slot' },
      {
        because: [
          'No slot has taken it yet. The log says no more: why no machine matches, only the scheduler knows.',
        ],
        evidence: [first, ...(release === undefined ? [] : [release.evidence])],
        doing: ['HTCondor looks for a slot by itself.'],
        advice: [
          analyze,
          'A URL of a kind that no machine has a plugin for keeps a job waiting for ever, without a word.',
        ],
      },
    );
  return explained(job, 'waiting', last.diagnosis, {
    because: ['It waits for a slot again.', ...past.because],
    evidence: [...past.evidence, ...(release === undefined ? [] : [release.evidence])],
    doing: doneAboutWaiting(job, rules),
    advice: [...adviceOf(last.diagnosis, rules), analyze],
  });
}
