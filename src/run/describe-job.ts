import {
  counted,
  defined,
  formatDuration,
  formatSize,
  memoryToRequest,
  printable,
  timeToRequest,
  given,
} from '@updraft/base';
import type { FitColumn } from '@updraft/view/tables';
import { byImportance } from '@updraft/base/training';
import { jobLabel, jobValues } from '@updraft/account/parameters';
import {
  type AgentState,
  type AttemptState,
  clampShare,
  describeConnection,
  describeResume,
  describeRung,
  type FetchState,
  idleSeconds,
  type JobState,
  silence,
  stoppedEarly,
  trainingShare,
  type TrainingState,
} from '@updraft/account/journal';
import { formatMillis } from '@updraft/view/format';

/** A job's state in one word: its outcome, its attempt's phase, or waiting. */
export function describeState(job: JobState): string {
  if (job.held !== undefined) return 'held';
  if (job.isKeptBack) return job.atRung === undefined ? 'kept-back' : 'at-rung';
  if (job.isUntold) return 'unknown';
  if (job.status === 'ended') return stoppedEarly(job) === undefined ? job.outcome : 'stopped-early';
  if (job.status !== 'running') return 'waiting';
  const { pool, phase = 'queued', ending = 'running' } = latestAttempt(job) ?? {};
  // All that is left is to publish its results.
  if (ending !== 'running') return 'returning';
  return pool?.disconnected === undefined ? phase : 'disconnected';
}

/**
 * Jobs as a table of text; `barOf` draws how far each is, for a screen that is redrawn. The metrics that most likely
 * decide stay longest; figures of transfers have columns only where there is room for all.
 */
export function jobListing(
  jobs: readonly JobState[],
  now: number,
  barOf?: (job: JobState) => string,
): { columns: FitColumn[]; rows: string[][] } {
  const metrics = [...new Set(jobs.flatMap((job) => Object.keys(job.metrics)))];
  const [deciding, second] = byImportance(metrics, jobs[0]?.directions);
  const right = (title: string, rank: number, of: (job: JobState) => string) => ({
    title,
    rank,
    of,
    align: 'right' as const,
  });
  const fetchesOf = (job: JobState) => latestAttempt(job)?.agent?.fetches ?? [];
  const columns: (FitColumn & { of: (job: JobState) => string })[] = given(
    nameColumn(jobs),
    right('TRY', 4, (job) => String(latestAttempt(job)?.number ?? '')),
    { title: 'STATE', rank: 0, of: describeState },
    barOf !== undefined && { title: '', of: barOf },
    { title: 'WHERE', rank: 5, of: (job) => printable(placeOf(job)) },
    ...(barOf === undefined
      ? [
          right('BYTES', 8, (job) =>
            fetchesOf(job).length === 0 ? '' : formatSize(fetchTotals(fetchesOf(job)).bytes),
          ),
          right('RATE', 9, (job) => rateOf(fetchTotals(fetchesOf(job)).rate).join('')),
        ]
      : []),
    right('EPOCH', 6, (job) => formatEpoch(latestAttempt(job)?.agent?.training ?? {})),
    ...metrics.map((name) =>
      right(name.toUpperCase(), name === deciding ? 2 : name === second ? 3 : 7, (job) => {
        const value = job.metrics[name];
        return value === undefined ? '' : formatLoss(value);
      }),
    ),
    {
      title: 'NOTE',
      rank: 1,
      of: (job) => (barOf === undefined ? jobNotes(job, now) : liveNotes(job, now)).join(', '),
    },
  );
  return { columns, rows: jobs.map((job) => columns.map(({ of }) => of(job))) };
}

const nameOf = ({ id, name }: JobState): string => printable(jobLabel(id, name));

/** On a narrow page, what the values are of stands only in the title. */
function nameColumn(jobs: readonly JobState[]): FitColumn & { of: (job: JobState) => string } {
  const { keys, values } = jobValues(jobs.map(({ parameters = {} }) => parameters)) ?? {};
  const column = { title: 'JOB', of: nameOf };
  if (keys === undefined) return column;
  const short = (job: JobState, at: number): string =>
    [job.id, ...(values?.[at] ?? [])].map((word) => printable(word).replaceAll(' ', '\u00a0')).join(' ');
  const texts = new Map(jobs.map((job, at) => [nameOf(job), short(job, at)]));
  return { ...column, short: { title: ['JOB', ...keys].join(', '), texts } };
}

/** With the figures that have no column, and without the files of those that measured something. */
function liveNotes(job: JobState, now: number): string[] {
  const { phase, agent } = latestAttempt(job) ?? {};
  const hasColumns = phase === 'training' || job.status === 'ended';
  if (job.outcome === 'success' && agent?.training?.best !== undefined && stoppedEarly(job) === undefined)
    return [];
  return [...(hasColumns ? [] : jobFigures(job)), ...jobNotes(job, now)];
}

const rateOf = (rate: number): string[] => (rate > 0 ? [`${formatSize(rate)}/s`] : []);

/** The figures of a job's current phase: bytes and rate, or epoch, loss and accuracy. */
export function jobFigures(job: JobState): string[] {
  const attempt = latestAttempt(job);
  if (attempt?.agent === undefined) return [];
  if (job.status !== 'running' && job.outcome !== 'success') return [];
  const { removed } = attempt.agent;
  if (job.status === 'running' && attempt.phase === 'cleaning' && removed !== undefined)
    return [`${counted(removed.files, 'file')} removed`];
  if (!isMovingData(attempt)) return trainingFigures(attempt.agent.training);
  if (attempt.agent.fetches.length === 0) return [];
  const { bytes, total, rate } = fetchTotals(attempt.agent.fetches);
  return [total === undefined ? formatSize(bytes) : sizeOf(bytes, total), ...rateOf(rate)];
}

/** Further notes on a job's current state. */
export function jobNotes(job: JobState, now: number): string[] {
  if (job.held !== undefined) return [printable(job.held.message)];
  const attempt = latestAttempt(job);
  if (attempt === undefined) return job.stopRequested && job.status !== 'ended' ? ['stop requested'] : [];
  if (job.status !== 'running') return endNotes(job, attempt);
  const lost = attempt.pool?.disconnected;
  if (lost !== undefined) return [describeConnection(lost)];
  const quiet = silence(attempt, now);
  const stalled = stallNotes(attempt, now);
  // Without bytes, the time left at the pace so far would be wrong.
  const left = stalled.length === 0 ? estimate(attempt) : [];
  return given(
    job.stopRequested && 'stopping',
    ...(quiet === undefined ? left : [`no report for ${formatMillis(quiet)}`]),
    ...requestNotes(attempt.agent),
    ...idleNotes(attempt),
    ...stalled,
    ...(isMovingData(attempt) ? serverNotes(attempt) : resumeNotes(attempt)),
  );
}

function estimate(attempt: AttemptState): string[] {
  const left = remaining(attempt);
  if (left === undefined) return [];
  return [`ETA ${left < 10_000 ? `${Math.ceil(left / 1000)}s` : formatMillis(left)}`];
}

/** Which requests are too small, and what to write instead. */
function requestNotes(agent: AgentState | undefined): string[] {
  const { time, memory } = agent?.short ?? {};
  return given(
    time !== undefined &&
      `needs ${formatDuration(time.needed)}, limit ${formatDuration(time.asked)}: write time = ` +
        `"${timeToRequest(time.needed)}"`,
    memory !== undefined &&
      `uses ${formatSize(memory.needed)}, requested ${formatSize(memory.asked)}: write memory = ` +
        `"${memoryToRequest(memory.needed)}"`,
  );
}

function idleNotes({ phase, agent }: AttemptState): string[] {
  const idle = phase === 'training' ? idleSeconds(agent) : undefined;
  return idle === undefined ? [] : [`GPU idle for ${formatDuration(idle)}`];
}

const isMovingData = ({ phase }: AttemptState): boolean => phase === 'fetching' || phase === 'unpacking';

/** Arriving bytes are reported every second, and a server may take a few seconds to answer. */
const stallMillis = 5000;

/** By the agent's clock up to its last report, by ours since. */
function stallNotes({ phase, agent, heardAt = Infinity }: AttemptState, now: number): string[] {
  if (phase !== 'fetching' || agent?.stall === undefined) return [];
  const reported = Date.parse(agent.lastAt) - Date.parse(agent.stall.bytesAt);
  const quiet = reported + Math.max(0, now - heardAt);
  return quiet < stallMillis ? [] : [`no bytes for ${formatMillis(quiet)}`];
}

const resumeNotes = ({ agent }: AttemptState): string[] =>
  given(
    ...(agent?.training?.rungs ?? []).slice(-1).map((last) => printable(describeRung(last))),
    agent?.resumed !== undefined && describeResume(agent.resumed),
  );

function endNotes(job: JobState, attempt: AttemptState): string[] {
  const stopped = stoppedEarly(job);
  if (stopped !== undefined) return [printable(describeRung(stopped))];
  if (attempt.ending === 'success')
    return (attempt.agent?.outputs ?? [])
      .slice(0, 2)
      .map(({ path, bytes }) => `${printable(path)} ${formatSize(bytes)}`);
  const { fault } = attempt;
  // The state says that the training failed; a narrow screen needs its room for the exception.
  const raised = fault?.kind === 'training-failed' ? fault.about : undefined;
  const what = fault === undefined ? describeLastContact(attempt) : printable(raised ?? fault.message);
  return [job.status === 'waiting' ? `try ${attempt.number} ended: ${what}` : what];
}

/** For a lost attempt: its agent's last report. */
function describeLastContact({ ending, agent }: AttemptState): string {
  if (agent === undefined || agent.outcome !== undefined) return ending === 'running' ? '' : ending;
  return `last report ${agent.lastAt.slice(0, 19)}Z by its own clock, while ${agent.phase}`;
}

function serverNotes({ agent }: AttemptState): string[] {
  const fetches = agent?.fetches ?? [];
  const current = fetches.find(({ done }) => !done) ?? fetches.at(-1);
  const setbacks = fetches.flatMap((fetch) => fetch.setbacks);
  const last = setbacks.at(-1);
  const count = counted(setbacks.length, 'setback');
  return given(
    ...(current === undefined || current.server === '' ? [] : [printable(current.server)]),
    last !== undefined && `${count}, last ${last.fault.kind} at ${printable(last.server)}`,
  );
}

/** `85/170 MB`; each with its unit where they differ. */
function sizeOf(bytes: number, total: number): string {
  const [part, whole] = [formatSize(bytes), formatSize(total)];
  const sameUnit = part.split(' ')[1] === whole.split(' ')[1];
  return `${sameUnit ? (part.split(' ')[0] ?? '') : part}/${whole}`;
}

/** A shorter wait for data is not worth a place in a line. */
const shownWaitSeconds = 10;

function trainingFigures(training: TrainingState | undefined): string[] {
  if (training === undefined) return [];
  const { step, steps, loss, accuracy, metrics = {}, waited = 0 } = training;
  const epoch = formatEpoch(training);
  return given(
    epoch !== '' && `epoch ${epoch}`,
    ...(step === undefined || epoch !== '' ? [] : [`step ${step}${steps === undefined ? '' : `/${steps}`}`]),
    loss !== undefined && `loss ${formatLoss(loss)}`,
    accuracy !== undefined && `acc ${(accuracy * 100).toFixed(1)} %`,
    ...byImportance(Object.keys(metrics))
      .filter((name) => /^(?:val|test|eval)/i.test(name))
      .slice(0, 2)
      .map((name) => `${name} ${formatLoss(metrics[name] ?? NaN)}`),
    ...(waited < shownWaitSeconds ? [] : [`waited ${formatDuration(Math.round(waited))} for data`]),
  );
}

/** `3/5`, `3`, or nothing. */
function formatEpoch({ epoch, epochs }: { epoch?: number; epochs?: number }): string {
  if (epoch === undefined) return '';
  return epochs === undefined ? String(epoch) : `${epoch}/${epochs}`;
}

const formatLoss = (loss: number): string =>
  Number.isFinite(loss) ? String(Number(loss.toPrecision(4))) : String(loss);

/** The attempt that stands for the job: the latest. */
export const latestAttempt = (job: JobState): AttemptState | undefined => job.attempts.at(-1);

/** Where the latest attempt runs: its site, or its host. */
export function placeOf(job: JobState): string {
  const { site = '', machine = '' } = latestAttempt(job) ?? {};
  return site || machine;
}

/** An attempt's data in total; `total` only when every object's size is known. */
function fetchTotals(fetches: readonly FetchState[]): { bytes: number; total?: number; rate: number } {
  const sum = (pick: (fetch: FetchState) => number) => fetches.reduce((all, one) => all + pick(one), 0);
  const known = fetches.every(({ total }) => total !== undefined);
  return {
    bytes: sum(({ bytes }) => bytes),
    rate: sum(({ rate }) => rate),
    ...(known ? { total: sum(({ total }) => total ?? 0) } : {}),
  };
}

/** Progress of the attempt's current phase, from 0 to 1; undefined when unknown. */
export function shareDone({ phase, agent }: AttemptState): number | undefined {
  if (agent === undefined) return undefined;
  if (phase === 'fetching' || phase === 'unpacking') {
    const { bytes, total } = fetchTotals(agent.fetches);
    return total === undefined || total === 0 ? undefined : clampShare(bytes / total);
  }
  return phase === 'training' && agent.training !== undefined ? trainingShare(agent.training) : undefined;
}

/** Milliseconds until the current phase is done, at the pace so far. */
export function remaining(attempt: AttemptState): number | undefined {
  const { phase, agent } = attempt;
  const share = shareDone(attempt);
  if (agent === undefined || share === undefined || share <= 0) return undefined;
  if (phase === 'training') {
    const own = share - givenShare(attempt);
    return own <= 0 ? undefined : Math.round((agent.millis.training * (1 - share)) / own);
  }
  const { bytes, total, rate } = fetchTotals(agent.fetches);
  return total === undefined || rate <= 0 ? undefined : Math.round(((total - bytes) / rate) * 1000);
}

/** How much of the training was done before this attempt. */
function givenShare({ number: attempt, agent }: AttemptState): number {
  const { resumed, training } = agent ?? {};
  if (resumed === undefined || training === undefined || resumed.savedBy === attempt) return 0;
  const { epoch, step } = resumed;
  const { epochs, steps, firstEpoch } = training;
  // What reports an epoch at its end did so before, too.
  const done = training.done === undefined ? undefined : epoch;
  return trainingShare(defined({ epoch, epochs, step, steps, firstEpoch, done })) ?? 0;
}
