import { causeTitle, type Cause } from '../codes/causes.ts';
import { diagnose, type Diagnosis } from '../diagnosis/diagnose.ts';
import { activityText, holdCount } from './build-explanation.ts';
import type { Evidence, Explanation } from '../diagnosis/explanation.ts';
import type { JobDetails, JobHistory } from '../history/history.ts';
import { detailsOf, streaksOf, describeStreaks, midSentence } from './past-attempts.ts';
import { causeOfRemoved, removalCause } from '../diagnosis/cause-of.ts';
import { formatSpan } from './format-span.ts';
import type { RunRules } from './describe-action.ts';

type Removal = NonNullable<JobDetails['removal']>;

/** Why a job was removed, and what happened to it before: that is often the real cause. */
export function explainRemoval(
  story: JobHistory,
  { reason, evidence, wasHeld }: Removal,
  rules: RunRules | undefined,
): Explanation {
  const [removal, because] = removalCause(reason);
  const before = beforeRemoval(story, wasHeld);
  const cause = causeOfRemoved(removal, wasHeld ? before.diagnosis?.cause : undefined);
  return {
    job: story.id,
    standing: 'removed',
    cause,
    title: `${reason.trim() === '' ? 'it was removed' : (removalTitles[removal] ?? causeTitle(removal))}${describeTrouble(before)}`,
    because: [because, ...before.because],
    evidence: [...before.evidence, evidence],
    doing: ['Nothing: it has left the queue.'],
    advice: [
      ...(before.diagnosis === undefined
        ? []
        : [...before.diagnosis.advice, ...(rules ? [] : (before.diagnosis.submitAdvice ?? []))]),
      rules === undefined ? 'Submit it again if you still want it.' : 'If you still want it: updraft retry',
    ],
  };
}

/** What was wrong before, unless another try could have succeeded. */
function describeTrouble({ diagnosis }: Before): string {
  if (diagnosis === undefined || diagnosis.outlook === 'passing' || harmlessCauses.has(diagnosis.cause))
    return '';
  return `; the problem before that: ${causeTitle(diagnosis.cause)}`;
}

const harmlessCauses = new Set<Cause>(['none', 'user']);

const removalTitles: Partial<Record<Cause, string>> = {
  user: 'a user removed it',
  'job-policy': 'a rule of the job removed it',
  'pool-policy': 'a rule of the access point removed it',
  'time-limit': 'a rule of the access point removed it: the time limit was reached',
  unknown: 'it was removed for a reason that Updraft does not know',
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
      `Before that it was held: ${midSentence(diagnosis.because[0] ?? '')}`,
      ...diagnosis.because.slice(1),
      ...holdCount(story),
    ];
    const table = /exceeded$/.test(diagnosis.cause) ? hold.table : undefined;
    return { because, evidence: [...(table === undefined ? [] : [table]), hold.evidence], diagnosis };
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
      ? [`It was ${activityText[last.details.doing]} at the time (attempt ${last.number}).`]
      : [];
  return { because: [...running, ...past.because], evidence: past.evidence, ...(diagnosis && { diagnosis }) };
}
