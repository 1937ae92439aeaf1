import { causes, type Diagnosis } from './causes.ts';
import { diagnose } from './diagnose.ts';
import type { Evidence, Explanation, Standing } from './explanation.ts';
import { explainRemoval } from './explain-removal.ts';
import type { JobStory, StoryAttempt } from './job-story.ts';
import { attemptDiagnosis } from './attempt-diagnosis.ts';
import { placeOf, streaksOf, tellStreaks, type Streak } from './past-attempts.ts';
import { showSpan } from './show-span.ts';
import { doneAboutHold, doneAboutLoop, type RunRules } from './what-is-done.ts';

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

interface Parts {
  because: string[];
  evidence: Evidence[];
  doing: string[];
  advice: string[];
}

const explained = (
  { id }: JobStory,
  standing: Standing,
  { cause }: Diagnosis,
  parts: Parts,
): Explanation => ({
  ...{ job: id, standing, cause, title: causes[cause] },
  ...parts,
});

const adviceOf = ({ advice, submitAdvice = [] }: Diagnosis, rules: RunRules | undefined): string[] =>
  rules === undefined ? [...advice, ...submitAdvice] : advice;

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
  const past = tellStreaks(streaksOf(story.attempts.slice(0, -1)));
  const count = story.attempts.length;
  const doing = isGood ? ['Nothing is left to do.'] : [leftTheQueue(count)];
  return explained(story, isGood ? 'succeeded' : 'failed', diagnosis, {
    because: [...diagnosis.because, ...past.because, ...reconnects(story)],
    evidence: [...past.evidence, ended?.evidence ?? story.last],
    doing,
    advice: [
      ...adviceOf(diagnosis, rules),
      ...(isGood ? adviceOnLosses(story) : []),
      ...(isGood && rules === undefined
        ? ['HTCondor goes by the exit code alone: check that the output is what you expect.']
        : []),
    ],
  });
}

const leftTheQueue = (count: number): string =>
  count > 1
    ? `Nothing more: it was tried ${count} times and has left the queue.`
    : 'Nothing: it has left the queue.';

const nothingWrong: Diagnosis = { cause: 'none', because: [], outlook: 'lasting', advice: [] };

/** An attempt whose beginning the log does not have. */
const unseen = (began: Evidence): StoryAttempt => ({
  ...{ from: undefined, to: undefined, began, doing: 'executing', executed: true },
  ...{ slot: '', site: '', memoryMb: 0, reconnects: 0 },
});

/** A job that ended well may still have lost hours on the way. */
function adviceOnLosses(story: JobStory): string[] {
  const lost = story.attempts.slice(0, -1).filter(({ executed }) => executed);
  return lost.length === 0
    ? []
    : ['Save checkpoints: the work of the attempts before the last was done again.'];
}

function reconnects({ attempts }: JobStory): string[] {
  const count = attempts.reduce((sum, attempt) => sum + attempt.reconnects, 0);
  return count === 0
    ? []
    : [
        `The connection to its machine was lost and found again ${count === 1 ? 'once' : `${count} times`}, without harm.`,
      ];
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
    because: [...diagnosis.because, ...attemptLine(story, last), ...past.because],
    evidence: [
      ...past.evidence,
      ...(isOfAttempt && last.complaint !== undefined ? [last.complaint.evidence] : []),
      hold.evidence,
    ],
    doing: doneAboutHold(story, hold, rules),
    advice: [...adviceOf(diagnosis, rules), `${mend} (to give it up: condor_rm ${id})`],
  });
}

function attemptLine({ attempts }: JobStory, last: StoryAttempt | undefined): string[] {
  if (last === undefined) return ['No attempt had been made.'];
  const place = placeOf(last);
  const where = place === '' ? '' : ` at ${place}`;
  const took = showSpan(last.from, last.to);
  return [`It was attempt ${attempts.length}${where}${took === '' ? '' : `, after ${took}`}.`];
}

/** Enough in a row to say that it will go on so. */
const loopLength = 3;
const passingCauses: ReadonlySet<Diagnosis['cause']> = new Set([
  'evicted',
  'disconnected',
  'silent-end',
  'exit-code',
  'signal',
  'none',
]);

function loopOf(streaks: readonly Streak[]): Streak | undefined {
  const last = streaks.at(-1);
  if (last === undefined || passingCauses.has(last.diagnosis.cause)) return undefined;
  const end = last.last.end;
  // A subcode of -1000 and below tells HTCondor to put the job back and never to hold it.
  const neverHolds = end?.how === 'vacated' && (end.subcode ?? 0) <= -1000;
  return last.to - last.from + 1 >= (neverHolds ? 2 : loopLength) ? last : undefined;
}

function explainLoop(
  story: JobStory,
  loop: Streak,
  streaks: readonly Streak[],
  rules: RunRules | undefined,
): Explanation {
  const { diagnosis, from, to, first, last } = loop;
  const count = to - from + 1;
  const span = showSpan(first.from, last.to);
  const past = tellStreaks(streaks.slice(0, -1));
  const evidence = [last.complaint?.evidence, last.end?.evidence].filter((one) => one !== undefined);
  return explained(story, 'looping', diagnosis, {
    because: [
      ...diagnosis.because,
      `It has ended so ${count} times in a row${span === '' ? '' : ` within ${span}`}, the last time at ${placeOf(last) || 'an unnamed machine'}.`,
      ...past.because,
    ],
    evidence: [...(first.end === undefined ? [] : [first.end.evidence]), ...evidence],
    doing: doneAboutLoop(count, rules),
    advice: [...adviceOf(diagnosis, rules), `Stop it until that is mended: condor_hold ${story.id}`],
  });
}

const whileDoing: Record<StoryAttempt['doing'], string> = {
  queueing: 'waits for its turn to receive its input',
  fetching: 'receives its input',
  starting: 'has its input and starts',
  executing: 'runs its program',
  returning: 'brings its output back',
  suspended: 'is suspended on its machine',
  'cut off': 'has lost the connection to its machine, and HTCondor tries to find it again',
};

function explainRunning(story: JobStory, last: StoryAttempt, streaks: readonly Streak[]): Explanation {
  const past = tellStreaks(streaks);
  const place = placeOf(last);
  const cause = last.doing === 'cut off' ? 'disconnected' : 'none';
  const quiet = last.doing === 'executing' ? [] : [];
  return explained(
    story,
    'running',
    { ...nothingWrong, cause },
    {
      because: [
        `Attempt ${story.attempts.length}${place === '' ? '' : ` at ${place}`} ${whileDoing[last.doing]}, as far as the log goes (${story.last.at}).`,
        ...past.because,
        ...reconnects(story),
        ...quiet,
      ],
      evidence: [...past.evidence, last.began, ...(story.last === last.began ? [] : [story.last])],
      doing: ['The attempt is under way.'],
      advice:
        last.doing === 'fetching' || last.doing === 'executing'
          ? [`See what it does now: condor_tail -f ${story.id}`]
          : [],
    },
  );
}

function explainWaiting(
  story: JobStory,
  streaks: readonly Streak[],
  rules: RunRules | undefined,
): Explanation {
  const past = tellStreaks(streaks);
  const last = streaks.at(-1);
  const release = story.releases.at(-1);
  const analyze = `Ask the scheduler what it waits for: condor_q -better-analyze ${story.id}`;
  if (last === undefined)
    return explained(
      story,
      'waiting',
      { ...nothingWrong, cause: 'waits-for-slot' },
      {
        because: [
          'No slot has taken it yet. The log tells no more: why no machine matches, only the scheduler knows.',
        ],
        evidence: [story.first, ...(release === undefined ? [] : [release.evidence])],
        doing: ['HTCondor looks for a slot by itself.'],
        advice: [
          analyze,
          'A URL of a kind that no machine has a plugin for keeps a job waiting for ever, without a word.',
        ],
      },
    );
  return explained(story, 'waiting', last.diagnosis, {
    because: ['It waits for a slot again.', ...past.because],
    evidence: [...past.evidence, ...(release === undefined ? [] : [release.evidence])],
    doing: ['HTCondor looks for another slot by itself.'],
    advice: [...adviceOf(last.diagnosis, rules), analyze],
  });
}
