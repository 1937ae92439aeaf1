import type { Termination } from '../eventlog/details.ts';
import { attemptDiagnosis } from '../diagnosis/attempt-diagnosis.ts';
import { causeTitle, type Cause } from '../codes/causes.ts';
import type { Diagnosis } from '../diagnosis/diagnosis.ts';
import { diagnose } from '../diagnosis/diagnose.ts';
import { explainRemoval } from './explain-removal.ts';
import { explainLoop, explainRunning, explainWaiting, loopOf } from './explain-under-way.ts';
import { adviceOf, explained, holdCount, nothingWrong, reconnects } from './explained.ts';
import type { Evidence, Explanation } from '../diagnosis/explanation.ts';
import type { JobStory, StoryAttempt } from '../diagnosis/job-story.ts';
import { placeOf, streaksOf, tellStreaks, type Streak } from './past-attempts.ts';
import { showSpan } from './show-span.ts';
import { doneAboutExit, doneAboutHold, type RunRules } from './what-is-done.ts';

/** Why a job stands as it does, from its events alone; `rules` where the job is one of a run of ours. Pure. */
export function explainStory(story: JobStory, rules?: RunRules): Explanation {
  if (story.ended?.by === 'removal') return explainRemoval(story, story.ended, rules);
  if (story.ended !== undefined) return explainExit(story, rules);
  if (story.isHeld) return explainHold(story, rules);
  const streaks = streaksOf(story.attempts);
  const loop = loopOf(streaks);
  if (loop !== undefined) return explainLoop(story, loop, streaks, rules);
  const last = story.attempts.at(-1);
  return last?.end === undefined && last !== undefined
    ? explainRunning(story, last, streaks)
    : explainWaiting(story, streaks, rules);
}

function explainExit(story: JobStory, rules: RunRules | undefined): Explanation {
  const last = story.attempts.at(-1);
  const ended = story.ended?.by === 'itself' ? story.ended : undefined;
  const end = {
    how: 'exited' as const,
    termination: ended?.termination,
    evidence: story.last,
    resources: ended?.resources ?? [],
  };
  const bare: StoryAttempt = last ?? unseen(story.first);
  const diagnosis = attemptDiagnosis({ ...bare, end }) ?? nothingWrong;
  const isGood = diagnosis.cause === 'none';
  const streaks = streaksOf(story.attempts.slice(0, -1));
  const past = tellStreaks(streaks);
  const count = story.attempts.length;
  const doing = isGood ? ['Nothing is left to do.'] : doneAboutExit(count, exitOf(ended?.termination), rules);
  const title = isGood ? goodTitle(count) : causeTitle(diagnosis.cause);
  return {
    job: story.id,
    standing: isGood ? 'succeeded' : 'failed',
    cause: diagnosis.cause,
    title,
    because: [...diagnosis.because, ...past.because, ...reconnects(story)],
    evidence: [...past.evidence, ended?.evidence ?? story.last],
    doing,
    advice: [
      ...adviceOf(diagnosis, rules),
      ...(isGood ? adviceOnLosses(streaks) : []),
      ...(isGood && rules === undefined
        ? ['HTCondor goes by the exit code alone: check that the output is what you expect.']
        : []),
    ],
  };
}

const goodTitle = (count: number): string =>
  count > 1 ? 'it ended well, though not at its first attempt' : 'it ended well';

const exitOf = (termination: Termination | undefined): number | undefined =>
  termination?.normal === true ? termination.returnValue : undefined;

/** An attempt whose beginning the log does not have. */
const unseen = (began: Evidence): StoryAttempt => ({
  from: undefined,
  to: undefined,
  began,
  doing: 'executing',
  executed: true,
  slot: '',
  site: '',
  memoryMb: 0,
  saves: 0,
  reconnects: 0,
});

/** Of these the next job can do something about. */
const avoidable = new Set<Cause>([
  'evicted',
  'disconnected',
  'time-limit',
  'memory-exceeded',
  'disk-exceeded',
]);

/** A job that ended well may still have lost hours on the way. */
function adviceOnLosses(streaks: readonly Streak[]): string[] {
  const last = streaks.at(-1)?.diagnosis;
  return last !== undefined && avoidable.has(last.cause) ? last.advice.slice(0, 1) : [];
}

function explainHold(story: JobStory, rules: RunRules | undefined): Explanation {
  const last = story.attempts.at(-1);
  const hold = story.holds.at(-1);
  if (hold === undefined) return explainWaiting(story, [], rules);
  const fallback = hold.reason.trim() === '' ? (last?.complaint?.text ?? '') : hold.reason;
  const diagnosis = diagnose({ ...hold, reason: fallback }, last?.memoryMb);
  // The last attempt's end is this hold itself, unless the hold came while the job waited.
  const isOfAttempt = last?.end !== undefined && 'reason' in last.end && last.end.reason === hold.reason;
  const past = tellStreaks(streaksOf(isOfAttempt ? story.attempts.slice(0, -1) : story.attempts));
  const { id } = story;
  const mend =
    diagnosis.outlook === 'lasting'
      ? `When that is mended: condor_release ${id}`
      : `To try again: condor_release ${id}`;
  return explained(story, 'held', diagnosis, {
    because: [...diagnosis.because, ...attemptLine(story, last), ...holdCount(story), ...past.because],
    evidence: [
      ...past.evidence,
      ...(hold.reason.trim() === '' && last?.complaint !== undefined ? [last.complaint.evidence] : []),
      ...(isAboutResources(diagnosis) && hold.table !== undefined ? [hold.table] : []),
      hold.evidence,
    ],
    doing: doneAboutHold(story, hold, rules),
    advice: [...adviceOf(diagnosis, rules), `${mend} (to give it up: condor_rm ${id})`],
  });
}

const isAboutResources = ({ cause }: Diagnosis): boolean =>
  cause === 'memory-exceeded' || cause === 'disk-exceeded';

function attemptLine({ attempts }: JobStory, last: StoryAttempt | undefined): string[] {
  if (last === undefined) return ['No attempt had been made.'];
  const place = placeOf(last);
  const where = place === '' ? '' : ` at ${place}`;
  const took = showSpan(last.from, last.to);
  return [`It was attempt ${attempts.length}${where}${took === '' ? '' : `, which had lasted ${took}`}.`];
}
