import { defined, given } from '@updraft/base';
import type { Termination } from '@updraft/htcondor/eventlog';
import { attemptDiagnosis } from './attempt-diagnosis.ts';
import { type Cause, causeTitle, causeTitles, needsResubmission, sentence } from '../codes/causes.ts';
import { readPolicyHold } from '../codes/codes.ts';
import { diagnose, type Diagnosis, diagnosisOf } from '../diagnosis/diagnose.ts';
import { safeLine } from '../diagnosis/quote-event.ts';
import { adviceOf, explained, goodTitle, holdCount, nothingWrong, reconnects } from './build-explanation.ts';
import type { Explanation, Headline } from '../diagnosis/explanation.ts';
import {
  activities,
  type AttemptHistory,
  type Evidence,
  idInQueue,
  type JobDetails,
  type JobHistory,
} from '../history/history.ts';
import { siteOrMachine } from '../history/worker.ts';
import { attemptAt, describeStreaks, detailsOf, type Streak, streaksOf } from './past-attempts.ts';
import {
  describeExitAction,
  describeHoldAction,
  describeLoopAction,
  describeWaitAction,
  type RunRules,
} from './describe-action.ts';
import { describeConnection } from '../journal/describe-attempt.ts';
import { defaultLeaseSeconds } from '../recovery/policy.ts';
import { causeOfRemoved, removalCause } from '../diagnosis/cause-of.ts';

/** Explains a job's state by its events; `rules` are those of Updraft's own runs. Pure. */
export function explainStory(job: JobHistory, rules?: RunRules): Explanation {
  return { ...explain(job, rules), ...identityOf(job) };
}

const identityOf = ({ node, siblings, log }: JobHistory): Pick<Headline, 'node' | 'siblings' | 'log'> =>
  defined({ node, siblings, log });

/** The headline of its explanation: of a job that exited, at a small part of the cost. */
export function headlineOf(job: JobHistory): Headline {
  const exited = exitedAttempt(job);
  if (exited === undefined) return explainStory(job);
  return { ...exitHeadline(job, exited), ...identityOf(job) };
}

function explain(job: JobHistory, rules: RunRules | undefined): Explanation {
  const { outcome, attempts } = job;
  const { removal } = detailsOf(job);
  if (removal !== undefined) return explainRemoval(job, removal, rules);
  if (outcome === 'held') return explainHold(job, rules);
  const exited = exitedAttempt(job);
  if (exited !== undefined) return explainExit(job, exited, rules);
  const last = attempts.at(-1);
  const streaks = streaksOf(attempts);
  const loop = loopOf(streaks);
  if (loop !== undefined) return explainLoop(job, loop, streaks, rules);
  return outcome === 'running' && last !== undefined
    ? explainRunning(job, last, streaks, rules)
    : explainWaiting(job, streaks, rules);
}

/** The last attempt, if the job ended with it. */
function exitedAttempt({ outcome, attempts, details }: JobHistory): AttemptHistory | undefined {
  const isOpen = outcome === 'held' || outcome === 'running' || outcome === 'waiting';
  return isOpen || details?.removal !== undefined ? undefined : attempts.at(-1);
}

function exitHeadline(job: JobHistory, last: AttemptHistory, diagnosis = lastDiagnosis(job, last)): Headline {
  const isGood = diagnosis.cause === 'none';
  return {
    job: job.id,
    standing: isGood ? 'success' : 'failed',
    cause: diagnosis.cause,
    ...(isGood ? { title: goodTitle(last.number) } : causeTitles(diagnosis.cause)),
  };
}

function explainExit(job: JobHistory, last: AttemptHistory, rules: RunRules | undefined): Explanation {
  const diagnosis = lastDiagnosis(job, last);
  const isGood = diagnosis.cause === 'none';
  const streaks = streaksOf(job.attempts.slice(0, -1));
  const past = describeStreaks(streaks, isGood ? undefined : diagnosis);
  const count = job.attempts.length;
  const { end } = last.details ?? {};
  return {
    ...exitHeadline(job, last, diagnosis),
    because: [...saidOf(last, diagnosis), ...past.because, ...reconnects(job)],
    evidence: [...past.evidence, end?.evidence ?? detailsOf(job).last],
    doing: isGood ? [] : describeExitAction(count, exitOf(end?.termination), rules),
    advice: given(
      ...adviceOf(diagnosis, job, rules),
      ...(isGood ? adviceOnLosses(streaks, job, rules) : []),
      isGood &&
        rules === undefined &&
        'HTCondor sees only the exit code: check that the output is what you expect.',
    ),
  };
}

/** An agent's own message does not say where that was. */
const saidOf = (attempt: AttemptHistory, { because }: Diagnosis): string[] =>
  attempt.fault === undefined ? because : [`${attemptAt(attempt)}: ${because.join(' ')}`];

/** How the program ended; the POST script of a DAG node may still make it a failure, or a success. */
function lastDiagnosis({ outcome, reason, node }: JobHistory, last: AttemptHistory): Diagnosis {
  const diagnosis = attemptDiagnosis(last) ?? nothingWrong;
  if (outcome === 'success' && node !== undefined && diagnosis.cause !== 'none')
    return {
      ...nothingWrong,
      because: [...diagnosis.because, 'But its POST script succeeded: the node is done.'],
    };
  if (outcome !== 'failed' || diagnosis.cause !== 'none') return diagnosis;
  const script = `But ${safeLine(reason ?? 'the POST script of its node failed')}.`;
  return { ...diagnosisOf('script-failed', [...diagnosis.because, script]), outlook: 'lasting' };
}

const exitOf = (termination: Termination | undefined): number | undefined =>
  termination?.normal === true ? termination.returnValue : undefined;

/** The user can avoid these in the next job. */
const avoidable = new Set<Cause>([
  'evicted',
  'disconnected',
  'time-limit',
  'memory-exceeded',
  'disk-exceeded',
]);

/** A job that succeeded may still have lost hours before. */
function adviceOnLosses(streaks: readonly Streak[], job: JobHistory, rules: RunRules | undefined): string[] {
  const last = streaks.at(-1)?.diagnosis;
  return last !== undefined && avoidable.has(last.cause) ? adviceOf(last, job, rules).slice(0, 1) : [];
}

function explainHold(job: JobHistory, rules: RunRules | undefined): Explanation {
  const { attempts } = job;
  const hold = detailsOf(job).holds.at(-1);
  if (hold === undefined) return explainWaiting(job, [], rules);
  const last = attempts.at(-1);
  // The hold ended the last attempt, unless the job was waiting.
  const held = hold.attempt === undefined ? undefined : last;
  const { complaint, memoryMb } = last?.details ?? {};
  const isBare = hold.reason.trim() === '';
  const said = { ...hold, reason: isBare ? (complaint?.text ?? '') : hold.reason };
  // A rule of the run held it for what its agent reported.
  const isForFault = held?.fault !== undefined && readPolicyHold(hold)?.by === 'exit';
  const ofAgent = isForFault ? attemptDiagnosis(held) : undefined;
  const diagnosis = ofAgent ?? diagnose(said, memoryMb);
  const past = describeStreaks(
    streaksOf(held === undefined ? attempts : attempts.slice(0, -1)),
    held && diagnosis,
  );
  const id = idInQueue(job.id);
  const isLasting = diagnosis.outlook === 'lasting';
  // A job in the queue does not change with the job file: only a retry sends the fix.
  const again =
    isLasting && rules !== undefined
      ? '`updraft retry` (or give it up: `updraft stop`)'
      : isLasting && needsResubmission(diagnosis.cause)
        ? `submit it again, and condor_rm ${id}: a job in the queue keeps its settings`
        : `condor_release ${id} (or give it up: condor_rm ${id})`;
  return explained(job, 'held', diagnosis, {
    because: [...diagnosis.because, attemptLine(attempts.at(-1), held), ...holdCount(job), ...past.because],
    evidence: given(
      ...past.evidence,
      isBare && complaint !== undefined && complaint.evidence,
      isAboutResources(diagnosis) && hold.table !== undefined && hold.table,
      hold.evidence,
    ),
    doing: describeHoldAction(job, hold, rules),
    advice: [
      ...adviceOf(diagnosis, job, rules),
      `${isLasting ? 'Once that is fixed' : 'To try again'}: ${again}`,
    ],
  });
}

const isAboutResources = ({ cause }: Diagnosis): boolean =>
  cause === 'memory-exceeded' || cause === 'disk-exceeded';

/** The time between two moments; empty if one is unknown. */
function formatSpan(from: number | undefined, to: number | undefined): string {
  if (from === undefined || to === undefined || to < from) return '';
  const seconds = Math.round((to - from) / 1000);
  if (seconds < 120) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 120) return `${minutes} min`;
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

function attemptLine(last: AttemptHistory | undefined, held: AttemptHistory | undefined): string {
  const count = last?.number ?? 0;
  if (held === undefined)
    return count === 0
      ? 'It was held before its first attempt.'
      : `It was not running; ${count} ${count === 1 ? 'attempt' : 'attempts'} had ended before.`;
  const place = siteOrMachine(held);
  const took = formatSpan(held.details?.from, held.details?.to);
  const where = place === '' ? '' : ` at ${place}`;
  return `This happened in attempt ${held.number}${where}${took === '' ? '' : `, after ${took}`}.`;
}

/** Attempts in a row that end the same way make a loop. */
const loopLength = 3;
const passingCauses: ReadonlySet<Diagnosis['cause']> = new Set(['evicted', 'disconnected', 'silent-end']);

function loopOf(streaks: readonly Streak[]): Streak | undefined {
  const last = streaks.at(-1);
  const end = last?.last.details?.end;
  if (last === undefined || end?.how === 'exited' || passingCauses.has(last.diagnosis.cause))
    return undefined;
  // A subcode of -1000 and below makes HTCondor put the job back and never hold it.
  const neverHolds = end?.how === 'vacated' && (end.subcode ?? 0) <= -1000;
  return last.to - last.from + 1 >= (neverHolds ? 2 : loopLength) ? last : undefined;
}

function explainLoop(
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
      `It has ended this way ${count} times in a row${span === '' ? '' : ` within ${span}`}, most ` +
        `recently at ${siteOrMachine(last) || 'an unknown machine'}.`,
      ...past.because,
    ],
    evidence: [first, last].flatMap(({ details }) => details?.end?.evidence ?? []),
    doing: describeLoopAction(count, rules),
    advice: [...adviceOf(diagnosis, job, rules), `Stop it until that is fixed: condor_hold ${job.id}`],
  });
}

function explainRunning(
  job: JobHistory,
  last: AttemptHistory,
  streaks: readonly Streak[],
  rules: RunRules | undefined,
): Explanation {
  const { doing = 'training', began, to = job.to } = last.details ?? {};
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
        `Attempt ${last.number}${place === '' ? '' : ` at ${place}`} is ${activities[doing].said} ` +
          `(last event in the log: ${details.last.at}).`,
        ...past.because,
        ...reconnects(job),
      ],
      evidence: [
        ...past.evidence,
        ...(began === undefined || began === details.last ? [] : [began]),
        details.last,
      ],
      doing: doing === 'cut-off' ? [`${lostSentence(to, rules)} The job then goes back to the queue.`] : [],
      advice: doing === 'training' ? [`See its latest output: condor_tail ${job.id}`] : [],
    },
  );
}

function lostSentence(since: number, rules: RunRules | undefined): string {
  const lease = rules?.policy.leaseSeconds ?? defaultLeaseSeconds;
  const [from, until] = [since, since + lease * 1000].map((time) => new Date(time).toISOString());
  const usual = rules === undefined ? ', unless its submit file sets another job_lease_duration' : '';
  return sentence(`${describeConnection({ since: from ?? '', until: until ?? '' })}${usual}`);
}

function explainWaiting(
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
        evidence: given(first, release !== undefined && release.evidence),
        doing: ['HTCondor keeps looking for a slot.'],
        advice:
          rules === undefined
            ? [analyze, 'It waits forever if no machine has a plugin for one of its input URLs.']
            : ['Compare the request with the machines of the pool: `updraft check`.', analyze],
      },
    );
  return explained(job, 'waiting', last.diagnosis, {
    because: ['It is waiting for a slot again.', ...past.because],
    evidence: given(...past.evidence, release !== undefined && release.evidence),
    doing: describeWaitAction(job, rules),
    advice: [...adviceOf(last.diagnosis, job, rules), analyze],
  });
}

type Removal = NonNullable<JobDetails['removal']>;

/** Why a job was removed, and what happened to it before: that is often the real cause. */
function explainRemoval(
  story: JobHistory,
  { reason, evidence, wasHeld }: Removal,
  rules: RunRules | undefined,
): Explanation {
  const [removal, because] = removalCause(reason);
  const before = beforeRemoval(story, wasHeld);
  const cause = causeOfRemoved(removal, wasHeld ? before.diagnosis?.cause : undefined);
  const [one, several] =
    reason.trim() === '' ? (['it was removed', 'they were removed'] as const) : titlesOf(removal);
  const trouble = describeTrouble(before);
  const again =
    rules === undefined ? 'Submit it again if you still want it.' : 'If you still want it: updraft retry';
  return {
    job: story.id,
    standing: 'removed',
    cause,
    title: `${one}${trouble}`,
    titles: `${several}${trouble}`,
    because: [because, ...before.because],
    evidence: [...before.evidence, evidence],
    doing: ['Nothing: it has left the queue.'],
    advice: [
      ...(before.diagnosis === undefined ? [] : adviceOf(before.diagnosis, story, rules)),
      // A rule would remove it again.
      ...(isChoice(removal) ? [again] : adviceOf(diagnosisOf(removal, []), story, rules)),
    ],
  };
}

const isChoice = (removal: Cause): boolean => removal === 'user' || removal === 'unknown';

/** What was wrong before, unless another try could have succeeded. */
function describeTrouble({ diagnosis }: Before): string {
  if (diagnosis === undefined || diagnosis.outlook === 'passing' || harmlessCauses.has(diagnosis.cause))
    return '';
  return `; the problem before that: ${causeTitle(diagnosis.cause)}`;
}

const harmlessCauses = new Set<Cause>(['none', 'user']);

function titlesOf(removal: Cause): readonly [one: string, several: string] {
  const { title, titles = title } = causeTitles(removal);
  return removalTitles[removal] ?? [title, titles];
}

const ofAccessPoint = 'a rule of the access point removed';
const removalTitles: Partial<Record<Cause, readonly [one: string, several: string]>> = {
  user: ['a user removed it', 'a user removed them'],
  'job-policy': ['a rule of the job removed it', 'a rule of the job removed them'],
  'pool-policy': [`${ofAccessPoint} it`, `${ofAccessPoint} them`],
  'time-limit': [
    `${ofAccessPoint} it: the time limit was reached`,
    `${ofAccessPoint} them: the time limit was reached`,
  ],
  unknown: [
    'it was removed for a reason that Updraft does not know',
    'they were removed for a reason that Updraft does not know',
  ],
};

interface Before {
  because: string[];
  evidence: Evidence[];
  diagnosis?: Diagnosis;
}

function beforeRemoval(story: JobHistory, wasHeld: boolean): Before {
  const { first, last: latest, holds } = detailsOf(story);
  const hold = wasHeld ? holds.at(-1) : undefined;
  if (hold !== undefined) {
    const diagnosis = diagnose(hold, story.attempts.at(-1)?.details?.memoryMb);
    const because = [
      `Before that it was held: ${diagnosis.because[0] ?? ''}`,
      ...diagnosis.because.slice(1),
      ...holdCount(story),
    ];
    const table = /exceeded$/.test(diagnosis.cause) ? hold.table : undefined;
    return { because, evidence: given(table, hold.evidence), diagnosis };
  }
  const last = story.attempts.at(-1);
  const waited = formatSpan(story.from, story.to);
  if (last === undefined && first === latest)
    return { because: ['The log has no other event of this job.'], evidence: [] };
  if (last === undefined)
    return { because: [`It had not started${waited === '' ? '' : ` after ${waited}`}.`], evidence: [first] };
  const streaks = streaksOf(story.attempts);
  const past = describeStreaks(streaks);
  const diagnosis = streaks.at(-1)?.diagnosis;
  const running =
    last.ending === 'removed' && last.details?.end?.how === 'removed'
      ? [`It was ${activities[last.details.doing].said} at the time (attempt ${last.number}).`]
      : [];
  return { because: [...running, ...past.because], evidence: past.evidence, ...(diagnosis && { diagnosis }) };
}
