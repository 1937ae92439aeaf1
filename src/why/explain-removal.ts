import { causeTitle, causeTitles, type Cause } from '../codes/causes.ts';
import { diagnose, diagnosisOf, type Diagnosis } from '../diagnosis/diagnose.ts';
import { activityText, adviceOf, holdCount } from './build-explanation.ts';
import type { Evidence, Explanation } from '../diagnosis/explanation.ts';
import type { JobDetails, JobHistory } from '../history/history.ts';
import { detailsOf, streaksOf, describeStreaks } from './past-attempts.ts';
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
