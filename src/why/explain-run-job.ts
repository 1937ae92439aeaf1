import { causeInfo, causeTitle, isPoolCause, sentence, type Cause } from '../codes/causes.ts';
import { causeOfJob, faultOf } from '../history/run-jobs.ts';
import type { Entry, FaultRecord } from '../journal/entry.ts';
import type { AttemptState, JobState } from '../journal/state.ts';
import { attemptSentences, checkpointAdvice, timeText } from './checkpoint-sentences.ts';
import { explainSilence, type SilentRecord } from './explain-silence.ts';
import { goodTitle } from './build-explanation.ts';
import type { Decision } from '../recovery/decide.ts';
import type { Evidence, Explanation, JobStatus } from '../diagnosis/explanation.ts';
import { safeLine } from '../diagnosis/quote-event.ts';

export interface FiledEntry {
  file: string;
  entry: Entry;
}

/** What a run's journals say about one job. */
export interface RunJobRecord extends Omit<SilentRecord, 'entries'> {
  entries: readonly FiledEntry[];
  /** What the local pool does next or did last; undefined if its plan is lost or another pool decides. */
  decision?: Decision | undefined;
  /** Whether the run has a supervisor; undefined on other pools than the local one. */
  isSupervised?: boolean;
  fromLog?: Explanation | undefined;
}

/** Explains a job of a run by Updraft's own journals and, on HTCondor, by the event log. Pure. */
export function explainRunJob(record: RunJobRecord): Explanation {
  const { job } = record;
  // A job that was removed while its results were returned has them nevertheless.
  const isLate = job.outcome === 'success' && record.fromLog?.standing === 'removed';
  const fromLog = isLate ? undefined : record.fromLog;
  const last = job.attempts.at(-1);
  const found = faultOf(last);
  // A hold has its own cause, unless a rule of the run held the job for the agent's fault.
  const fault = job.held === undefined || job.held.message === found?.message ? found : undefined;
  const [resumed, advice] = [attemptSentences(last), checkpointAdvice(last)];
  const silent = explainSilence(record);
  if (fromLog !== undefined && (fault === undefined || !isByAgent(last)))
    return {
      ...fromLog,
      ...(silent && { cause: silent.cause, title: silent.title }),
      job: job.id,
      because: [...(silent?.because ?? []), ...fromLog.because, ...resumed],
      advice: [...(silent?.advice ?? []), ...advice, ...fromLog.advice],
    };
  const standing = fromLog?.standing ?? standingOf(job);
  const isGood = standing === 'succeeded' || (standing === 'running' && last?.outcome === undefined);
  const own = isGood ? (silent ?? describeSuccess(record, last)) : describeFailure(record, last, fault);
  const log = isGood ? undefined : fromLog;
  const cause = isGood ? own.cause : (causeOfJob(job) ?? own.cause);
  return {
    job: job.id,
    standing,
    cause,
    title: own.title,
    because: [...own.because, ...resumed, ...fromLogToo(job, own, fromLog)],
    evidence: [...evidenceOf(record), ...(fromLog?.evidence ?? [])],
    doing: fromLog?.doing ?? describeActivity(record),
    advice: [
      ...new Set([
        ...own.advice,
        ...advice,
        ...(isOwnEnd(log, own) && own.advice.length > 0 ? [] : (log?.advice ?? [])),
      ]),
    ],
  };
}

type OwnExplanation = Pick<Explanation, 'cause' | 'title' | 'because' | 'advice'>;

/** Whether HTCondor knows no more than the agent's exit code. */
const isOwnEnd = (log: Explanation | undefined, own: OwnExplanation): boolean =>
  log?.cause === 'exit-code' || log?.cause === own.cause;

const isAboutPast = (sentence: string): boolean => /^Attempts? \d/.test(sentence);
const isExitCode = (sentence: string): boolean => /^The program exited with code/.test(sentence);

/**
 * How earlier attempts ended, and what HTCondor's log adds. Nothing twice: if the agent reported every end, its own
 * sentences replace the log's, and its message replaces its exit code.
 */
function fromLogToo(job: JobState, own: OwnExplanation, log: Explanation | undefined): string[] {
  if (log === undefined) return pastSentences(job);
  const isAgents = job.attempts.slice(0, -1).every(isByAgent);
  const said = log.because.filter(
    (sentence) => !(isAgents && isAboutPast(sentence)) && !(isOwnEnd(log, own) && isExitCode(sentence)),
  );
  return [...(isAgents ? pastSentences(job) : []), ...said];
}

function standingOf({ status, outcome, held }: JobState): JobStatus {
  if (held !== undefined) return 'held';
  if (status !== 'ended') return status;
  if (outcome === 'success') return 'succeeded';
  return outcome === 'stopped' ? 'removed' : 'failed';
}

/** Whether the agent itself reported the fault. */
const isByAgent = (attempt: AttemptState | undefined): boolean => (attempt?.agent?.faults.length ?? 0) > 0;

function describeSuccess(
  { job: { status, attempts }, isSupervised }: RunJobRecord,
  last: AttemptState | undefined,
): OwnExplanation {
  if (status === 'ended')
    return {
      cause: 'none',
      title: goodTitle(attempts.length),
      because: [`Attempt ${last?.attempt ?? 1} produced a valid result.`],
      advice: [],
    };
  const why = last === undefined || last.why === '' ? '' : ` Reason for this attempt: ${safeLine(last.why)}.`;
  return {
    cause: 'none',
    title: isSupervised === false ? 'the supervisor of the run is gone' : causeTitle('none'),
    because: [
      `Attempt ${last?.attempt ?? 1}${siteOfAttempt(last)} is ${last?.phase ?? 'queued'}.${why}`,
      ...lastContact(last),
    ],
    advice: [],
  };
}

const lastContact = (last: AttemptState | undefined): string[] =>
  last?.agent === undefined
    ? []
    : [`Its agent last reported at ${timeText(last.agent.lastAt)}, by its own clock.`];

function describeFailure(
  { job, entries, fromLog }: RunJobRecord,
  last: AttemptState | undefined,
  fault: FaultRecord | undefined,
): OwnExplanation {
  if (job.outcome === 'stopped' || (job.stopRequested && fault === undefined))
    return describeStop(entries, fromLog);
  if (job.held !== undefined) return describeHold(job.held);
  if (last === undefined)
    return {
      cause: 'waits-for-slot',
      title: 'it has not started yet',
      because: ['It is waiting for its first attempt.'],
      advice: [],
    };
  if (fault !== undefined) return describeFault(last, fault);
  const contact =
    last.agent === undefined
      ? 'Its agent never reported.'
      : `Its agent last reported while ${last.agent.phase}.`;
  return {
    cause: 'silent-end',
    title: 'the last attempt exited without reporting why',
    because: [`Attempt ${last.attempt}${siteOfAttempt(last)}: ${last.outcome ?? 'lost'}. ${contact}`],
    advice: ['Read what the training printed: `updraft logs`.'],
  };
}

const describeHold = ({ message, fix, cause = 'user' }: FaultRecord): OwnExplanation => ({
  cause,
  title: cause === 'user' ? 'it is held' : causeTitle(cause),
  because: [`${safeLine(message)}.`],
  advice: fix === undefined ? [] : [safeLine(fix)],
});

function describeStop(entries: readonly FiledEntry[], fromLog: Explanation | undefined): OwnExplanation {
  const reasons = entries.map(({ entry }) => (entry.kind === 'stop-requested' ? entry.why : undefined));
  const why = reasons.findLast((reason) => reason !== undefined);
  if (why !== undefined)
    return {
      cause: 'user',
      title: 'the run was stopped by its own rules',
      because: [`The run was stopped: ${safeLine(why)}.`],
      advice: [],
    };
  // HTCondor's log names the user.
  const because = fromLog?.standing === 'removed' ? [] : ['A user stopped it.'];
  const advice = fromLog === undefined ? ['If you still want it: updraft retry'] : [];
  return { cause: 'user', title: 'it was stopped', because, advice };
}

function describeFault(last: AttemptState, fault: FaultRecord): OwnExplanation {
  const { kind, message, fix, about, cause = kind } = fault;
  const object = about === undefined || message.includes(about) ? '' : ` (${safeLine(about)})`;
  return {
    cause,
    title: causeTitle(cause),
    because: [
      `Attempt ${last.attempt}${siteOfAttempt(last)}: ${safeLine(message)}${object}`,
      ...setbackSentences(last),
    ],
    advice: [...adviceOf(cause, fix)],
  };
}

/** The fix of the fault itself, then the general advice for its cause; for our own faults that is the same fix again. */
function adviceOf(cause: Cause, fix = ''): string[] {
  const own = sentence(safeLine(fix));
  if (own !== '' && !isPoolCause(cause)) return [own];
  return [...new Set([own, causeInfo(cause).advice])].filter((one) => one !== '');
}

function setbackSentences({ agent }: AttemptState): string[] {
  return (agent?.fetches ?? [])
    .filter(({ setbacks }) => setbacks.length > 0)
    .map(({ object, setbacks }) => {
      const servers = new Set(setbacks.map(({ server }) => server));
      return `${safeLine(object)}: ${setbacks.length} failed ${setbacks.length === 1 ? 'try' : 'tries'} at ${[...servers].map(safeLine).join(', ')}.`;
    });
}

/** How the attempts before the last ended; those that ended the same way share a sentence. */
function pastSentences({ attempts }: JobState): string[] {
  const last = attempts.at(-1);
  const groups = Map.groupBy(attempts.slice(0, -1), endWords);
  return [...groups].map(([words, alike]) => {
    const [first] = alike;
    const numbers = alike
      .map(({ attempt }) => attempt)
      .join(', ')
      .replace(/, (\d+)$/, ' and $1');
    if (last?.outcome !== undefined && words === endWords(last))
      return `${alike.length === 1 ? 'Attempt' : 'Attempts'} ${numbers} ended like the last one.`;
    const said = first === undefined ? '' : endedAs(first);
    return alike.length === 1
      ? `Attempt ${numbers}${siteOfAttempt(first)} ${said}`
      : `Attempts ${numbers} ended the same way; the first${siteOfAttempt(first)} ${said}`;
  });
}

/** Equal for ends that differ only in numbers and paths. */
const endWords = (attempt: AttemptState): string =>
  endedAs(attempt)
    .replaceAll(/\/\S+/g, '/')
    .replaceAll(/[\d.]+ ?[kMGT]?B?\b/g, '0');

function endedAs(attempt: AttemptState): string {
  const { outcome = 'lost' } = attempt;
  const fault = faultOf(attempt);
  if (fault === undefined) return `ended: ${outcome}`;
  return `ended: ${outcome}${fault.kind === outcome ? '' : `, ${fault.kind}`}: ${safeLine(fault.message)}`;
}

function siteOfAttempt(attempt: AttemptState | undefined): string {
  const place = attempt?.agent?.site ?? attempt?.pool?.site ?? attempt?.agent?.host ?? attempt?.pool?.host;
  return place === undefined || place === '' ? '' : ` at ${safeLine(place)}`;
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
