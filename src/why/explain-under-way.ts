import { sentence } from '../codes/causes.ts';
import type { Diagnosis } from '../diagnosis/diagnose.ts';
import { activityText, adviceOf, explained, nothingWrong, reconnects } from './build-explanation.ts';
import type { Explanation } from '../diagnosis/explanation.ts';
import { idInQueue, type AttemptHistory, type JobHistory } from '../history/history.ts';
import { siteOrMachine } from '../history/worker.ts';
import { describeConnection } from '../journal/describe-attempt.ts';
import { defaultLeaseSeconds } from '../recovery/policy.ts';
import { detailsOf, describeStreaks, type Streak } from './past-attempts.ts';
import { formatSpan } from './format-span.ts';
import { describeLoopAction, describeWaitAction, type RunRules } from './describe-action.ts';

/** Attempts in a row that end the same way make a loop. */
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

export function explainLoop(
  job: JobHistory,
  loop: Streak,
  streaks: readonly Streak[],
  rules: RunRules | undefined,
): Explanation {
  const { diagnosis, from, to, first, last } = loop;
  const count = to - from + 1;
  const span = formatSpan(first.details?.from, last.details?.to);
  const past = describeStreaks(streaks.slice(0, -1));
  return explained(job, 'looping', diagnosis, {
    because: [
      ...diagnosis.because,
      `It has ended this way ${count} times in a row${span === '' ? '' : ` within ${span}`}, most recently at ${siteOrMachine(last) || 'an unknown machine'}.`,
      ...past.because,
    ],
    evidence: [first, last].flatMap(({ details }) => details?.end?.evidence ?? []),
    doing: describeLoopAction(count, rules),
    advice: [...adviceOf(diagnosis, job, rules), `Stop it until that is fixed: condor_hold ${job.id}`],
  });
}

export function explainRunning(
  job: JobHistory,
  last: AttemptHistory,
  streaks: readonly Streak[],
  rules: RunRules | undefined,
): Explanation {
  const { doing = 'executing', began, to = job.to } = last.details ?? {};
  const details = detailsOf(job);
  const past = describeStreaks(streaks);
  const place = siteOrMachine(last);
  const cause = doing === 'cut-off' ? 'disconnected' : 'none';
  return explained(
    job,
    'running',
    { ...nothingWrong, cause },
    {
      because: [
        `Attempt ${last.number}${place === '' ? '' : ` at ${place}`} is ${activityText[doing]} (last event in the log: ${details.last.at}).`,
        ...past.because,
        ...reconnects(job),
      ],
      evidence: [
        ...past.evidence,
        ...(began === undefined || began === details.last ? [] : [began]),
        details.last,
      ],
      doing: doing === 'cut-off' ? [`${lostSentence(to, rules)} The job then goes back to the queue.`] : [],
      advice: doing === 'executing' ? [`See its latest output: condor_tail ${job.id}`] : [],
    },
  );
}

function lostSentence(since: number, rules: RunRules | undefined): string {
  const lease = rules?.policy.leaseSeconds ?? defaultLeaseSeconds;
  const [from, until] = [since, since + lease * 1000].map((time) => new Date(time).toISOString());
  const usual = rules === undefined ? ', unless its submit file sets another job_lease_duration' : '';
  return sentence(`${describeConnection({ since: from ?? '', until: until ?? '' })}${usual}`);
}

export function explainWaiting(
  job: JobHistory,
  streaks: readonly Streak[],
  rules: RunRules | undefined,
): Explanation {
  const past = describeStreaks(streaks);
  const last = streaks.at(-1);
  const { first, releases } = detailsOf(job);
  const release = releases.at(-1);
  const analyze = `See what it is waiting for: condor_q -better-analyze ${idInQueue(job.id)}`;
  if (last === undefined)
    return explained(
      job,
      'waiting',
      { ...nothingWrong, cause: 'waits-for-slot' },
      {
        because: ['No machine has matched it yet. The log does not say why, but the scheduler can.'],
        evidence: [first, ...(release === undefined ? [] : [release.evidence])],
        doing: ['HTCondor keeps looking for a slot.'],
        advice:
          rules === undefined
            ? [analyze, 'It waits forever if no machine has a plugin for one of its input URLs.']
            : ['Compare the request with the machines of the pool: `updraft check`.', analyze],
      },
    );
  return explained(job, 'waiting', last.diagnosis, {
    because: ['It is waiting for a slot again.', ...past.because],
    evidence: [...past.evidence, ...(release === undefined ? [] : [release.evidence])],
    doing: describeWaitAction(job, rules),
    advice: [...adviceOf(last.diagnosis, job, rules), analyze],
  });
}
