import { causeTitle, causeTitles } from '../codes/causes.ts';
import { adviceOn, type Diagnosis } from '../diagnosis/diagnose.ts';
import type { Explanation } from '../diagnosis/explanation.ts';
import { safeLine } from '../diagnosis/quote-event.ts';
import type { AttemptHistory, Evidence, JobHistory } from '../history/history.ts';
import type { Entry } from '../journal/entry.ts';
import { describeRung, stoppedEarly } from '../journal/describe-attempt.ts';
import type { AttemptState, JobState } from '../journal/state.ts';
import type { Decision } from '../recovery/decide.ts';
import { attemptDiagnosis } from './attempt-diagnosis.ts';
import { goodTitle, nothingWrong } from './build-explanation.ts';
import { attemptAdvice, attemptSentences, timeText } from './checkpoint-sentences.ts';
import type { RunRules } from './describe-action.ts';
import { explainStory } from './explain-story.ts';
import { attemptAt, describeStreaks, streaksOf } from './past-attempts.ts';
import { formatDuration, given, defined } from '@updraft/base';
import { silence } from '../journal/silence.ts';

export interface FiledEntry {
  file: string;
  entry: Entry;
}

/** What a run's journals say about one job. */
export interface RunJobRecord {
  job: JobState;
  /** The scheduler that has the jobs in its queue. */
  queue?: string | undefined;
  /** Milliseconds since the epoch; without it, nothing is said about silence. */
  now?: number;
  entries: readonly FiledEntry[];
  /** What the local pool does next or did last; undefined if its plan is lost or another pool decides. */
  decision?: Decision | undefined;
  /** Whether the run has a supervisor; undefined on other pools than the local one. */
  isSupervised?: boolean;
  /** The job by HTCondor's event log, and the rules of its submit file. */
  logged?: { history: JobHistory; rules: RunRules | undefined } | undefined;
}

/** Explains a job of a run by Updraft's own journals and, on HTCondor, by the event log. Pure. */
export function explainRunJob(record: RunJobRecord): Explanation {
  const { job, logged } = record;
  // A job that was removed while its results were returned has them nevertheless.
  const isLate = job.outcome === 'success' && logged?.history.details?.removal !== undefined;
  const isByLog = logged !== undefined && !isLate;
  const last = job.attempts.at(-1);
  const silent = explainSilence(record);
  const own = isByLog ? explainStory(withAgents(logged.history, job), logged.rules) : explainUnlogged(record);
  const isQuoted = !isByLog || isByAgent(last);
  return {
    ...own,
    ...(silent && { cause: silent.cause, title: silent.title }),
    job: job.id,
    because: [
      ...(silent?.because ?? []),
      ...stopSentences(job),
      ...own.because,
      ...setbackSentences(last),
      ...attemptSentences(last),
    ],
    evidence: [...(isQuoted ? evidenceOf(record) : []), ...own.evidence],
    advice: [...new Set([...(silent?.advice ?? []), ...attemptAdvice(last), ...own.advice])],
  };
}

/** Whether the agent itself reported the fault. */
const isByAgent = (attempt: AttemptState | undefined): boolean => (attempt?.agent?.faults.length ?? 0) > 0;

/** The same job with what its agents reported; the last attempts of both are the same. */
function withAgents(history: JobHistory, { attempts: own }: JobState): JobHistory {
  const attempts = history.attempts.map((attempt, index): AttemptHistory => {
    const same = own.at(index - history.attempts.length);
    const fault = isByAgent(same) && attempt.ending !== 'removed' ? same?.fault : undefined;
    return fault === undefined || same === undefined ? attempt : { ...attempt, number: same.number, fault };
  });
  return { ...history, attempts };
}

/** A job of a pool without a log: what its own journals say. */
function explainUnlogged(record: RunJobRecord): Explanation {
  const { job } = record;
  const { outcome } = job;
  const standing = outcome === 'wrong-output' ? 'failed' : outcome;
  const last = job.attempts.at(-1);
  const isGood = standing === 'success' || (standing === 'running' && last?.ending === 'running');
  const diagnosis = isGood ? nothingWrong : last && attemptDiagnosis(last);
  const past = describeStreaks(streaksOf(job.attempts.slice(0, -1)), isGood ? undefined : diagnosis);
  const own = isGood ? describeGood(record, last) : describeBad(record, diagnosis);
  return {
    job: job.id,
    standing,
    cause: own.cause,
    title: own.title,
    ...defined({ titles: own.titles }),
    because: [...own.because, ...past.because],
    evidence: [],
    doing: describeActivity(record),
    advice: own.advice,
  };
}

type OwnExplanation = Pick<Explanation, 'cause' | 'title' | 'titles' | 'because' | 'advice'>;

function describeGood({ job, isSupervised }: RunJobRecord, last: AttemptState | undefined): OwnExplanation {
  const number = last?.number ?? 1;
  if (job.status === 'ended')
    return {
      cause: 'none',
      title: goodTitle(job.attempts.length),
      because: stoppedEarly(job) === undefined ? [`Attempt ${number} produced a valid result.`] : [],
      advice: [],
    };
  const why = last === undefined || last.why === '' ? '' : ` Reason for this attempt: ${safeLine(last.why)}.`;
  const { lastAt } = last?.agent ?? {};
  return {
    cause: 'none',
    title: isSupervised === false ? 'the supervisor of the run is gone' : goodTitle(1),
    because: given(
      `${last === undefined ? 'Attempt 1' : attemptAt(last)} is ${last?.phase ?? 'queued'}.${why}`,
      lastAt !== undefined && `Its agent last reported at ${timeText(lastAt)}, by its own clock.`,
    ),
    advice: [],
  };
}

function stopSentences(job: JobState): string[] {
  const stopped = stoppedEarly(job);
  return stopped === undefined ? [] : [`The trial was stopped early at ${safeLine(describeRung(stopped))}.`];
}

function describeBad({ job, entries }: RunJobRecord, diagnosis: Diagnosis | undefined): OwnExplanation {
  const last = job.attempts.at(-1);
  const cause = job.cause ?? last?.cause;
  if (job.outcome === 'removed' || (job.stopRequested && last?.fault === undefined))
    return { ...describeStop(entries), cause: cause ?? 'user' };
  const advised = (one: Diagnosis): string[] => adviceOn(one, { isOurs: true });
  if (job.held !== undefined) {
    const { message, fix, cause: held = 'user' } = job.held;
    const named = held === 'user' ? { title: 'it is held', titles: 'they are held' } : causeTitles(held);
    return {
      cause: cause ?? held,
      ...named,
      because: [`${safeLine(message)}.`],
      advice: fix === undefined ? [] : [safeLine(fix)],
    };
  }
  if (last === undefined || diagnosis === undefined)
    return {
      cause: cause ?? 'waits-for-slot',
      title: 'it has not started yet',
      titles: 'they have not started yet',
      because: ['It is waiting for its first attempt.'],
      advice: [],
    };
  const because = [`${attemptAt(last)}: ${diagnosis.because.join(' ')}`];
  if (last.fault !== undefined)
    return {
      cause: cause ?? diagnosis.cause,
      ...causeTitles(diagnosis.cause),
      because,
      advice: advised(diagnosis),
    };
  const { agent } = last;
  const contact =
    agent === undefined ? 'Its agent never reported.' : `Its agent last reported while ${agent.phase}.`;
  return {
    cause: cause ?? 'silent-end',
    title: 'the last attempt exited without reporting why',
    because: [...because, contact],
    advice: ['Read what the training printed: `updraft logs`.'],
  };
}

function describeStop(entries: readonly FiledEntry[]): OwnExplanation {
  const reasons = entries.map(({ entry }) => (entry.kind === 'stop-requested' ? entry.why : undefined));
  const why = reasons.findLast((reason) => reason !== undefined);
  if (why !== undefined)
    return {
      cause: 'user',
      title: 'the run was stopped by its own rules',
      because: [`The run was stopped: ${safeLine(why)}.`],
      advice: [],
    };
  return {
    cause: 'user',
    title: 'it was stopped',
    titles: 'they were stopped',
    because: ['A user stopped it.'],
    advice: ['If you still want it: updraft retry'],
  };
}

function setbackSentences(attempt: AttemptState | undefined): string[] {
  if (attempt?.fault === undefined) return [];
  return (attempt.agent?.fetches ?? [])
    .filter(({ setbacks }) => setbacks.length > 0)
    .map(({ object, setbacks }) => {
      const servers = new Set(setbacks.map(({ server }) => safeLine(server)));
      const tries = setbacks.length === 1 ? 'try' : 'tries';
      return `${safeLine(object)}: ${setbacks.length} failed ${tries} at ${[...servers].join(', ')}.`;
    });
}

const maxSetbacks = 2;

/** Entries about faults and ends, by attempt, with the latest few setbacks. */
function evidenceOf({ entries }: RunJobRecord): Evidence[] {
  const setbacks = entries.filter(({ entry }) => entry.kind === 'fetch-setback');
  const left = new Set(setbacks.slice(0, -maxSetbacks));
  const shown = entries.filter((one) => isRelevant(one.entry) && !left.has(one));
  const attemptOf = ({ entry }: FiledEntry): number => ('attempt' in entry ? entry.attempt : Infinity);
  return shown.toSorted((a, b) => Math.sign(attemptOf(a) - attemptOf(b)) || 0).map(quoteEntry);
}

const isRelevant = (entry: Entry): boolean =>
  entry.kind === 'attempt-ended' ||
  entry.kind === 'fault' ||
  entry.kind === 'fetch-setback' ||
  entry.kind === 'stop-requested' ||
  entry.kind === 'job-held' ||
  entry.kind === 'checkpoint-refused' ||
  (entry.kind === 'resume-checked' && !entry.movedOn) ||
  (entry.kind === 'training-ended' && entry.status !== 0);

function quoteEntry({ file, entry }: FiledEntry): Evidence {
  // Printed beside it.
  const isSaid = (key: string): boolean => ['v', 't', 'seq', 'kind', 'job'].includes(key);
  const rest = Object.fromEntries(Object.entries(entry).filter(([key]) => !isSaid(key)));
  return { file, entry: entry.seq, at: entry.t, lines: [safeLine(`${entry.kind} ${JSON.stringify(rest)}`)] };
}

function describeActivity({ job, decision, isSupervised, queue }: RunJobRecord): string[] {
  const { status, outcome, attempts, held } = job;
  if (held !== undefined) return ['Nothing: it stays held until a user releases it.'];
  if (queue !== undefined && status === 'waiting')
    return [
      `It is ${attempts.length > 0 ? 'back ' : ''}in the queue of ${queue}, which starts it when its turn comes.`,
    ];
  if (status !== 'ended' && isSupervised === false)
    return [
      'Nothing: the supervisor of the run is gone. Start another: `updraft submit` with the folder of the run.',
    ];
  if (status === 'running' || outcome === 'success') return [];
  if (decision?.do === 'end') return [`Nothing more: ${decision.why}.`];
  if (status === 'ended') return ['Nothing: the job has ended.'];
  if (attempts.length === 0) return ['The supervisor of the run starts it when a slot is free.'];
  const when =
    decision?.do === 'wait'
      ? `at ${timeText(new Date(decision.until).toISOString())}`
      : 'as soon as a slot is free';
  return [`The supervisor of the run tries again ${when}.`];
}

/** About an attempt that runs, but whose agent has not reported for too long; undefined otherwise. */
function explainSilence({
  job,
  entries,
  queue,
  now,
}: RunJobRecord): Pick<Explanation, 'cause' | 'title' | 'because' | 'advice'> | undefined {
  const last = job.attempts.at(-1);
  if (now === undefined || job.status !== 'running' || last?.agent === undefined) return undefined;
  const quiet = silence(last, now);
  if (quiet === undefined) return undefined;
  const started = entries.findLast(
    ({ entry }) => entry.kind === 'agent-started' && entry.attempt === last.number,
  )?.entry;
  const pid = queue === undefined && started?.kind === 'agent-started' ? started.pid : undefined;
  const giveUp = 'give it up with `updraft stop`, then start it again with `updraft retry`';
  return {
    cause: 'agent-silent',
    title: causeTitle('agent-silent'),
    because: [
      `Attempt ${last.number} at ${last.agent.site ?? last.agent.host} was ${last.agent.phase} when ` +
        `its agent last reported, at ${timeText(last.agent.lastAt)}: ` +
        `${formatDuration(Math.floor(quiet / 1000))} ago.`,
    ],
    advice:
      pid === undefined
        ? [`Its machine may be cut off or overloaded: wait, or ${giveUp}.`]
        : [
            `See what its process does: \`ps -o stat,cmd -p ${pid}\`. If it begins with T, it was ` +
              `stopped: \`kill -CONT ${pid}\` lets it go on.`,
            `If it does not go on: ${giveUp}.`,
          ],
  };
}
