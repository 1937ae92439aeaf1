import { printable } from '../../base/printable.ts';
import { formatSize } from '../../job/units.ts';
import { resumeWords } from '../../journal/resume-words.ts';
import type { AttemptState, JobState, TrainingState } from '../../journal/state.ts';
import { showMillis } from '../../report/show.ts';
import { bytesOf, latestAttempt, remaining, silence } from './job-progress.ts';

/** One word for how a job stands: its outcome, its attempt's phase, or that it waits. */
export function jobWord(job: JobState): string {
  if (job.held !== undefined) return 'held';
  if (job.isKeptBack) return 'kept-back';
  if (job.isUntold) return 'not known';
  if (job.status === 'ended') return job.outcome ?? 'lost';
  return job.status === 'running' ? (latestAttempt(job)?.phase ?? 'queued') : 'waiting';
}

/** The figures of a job's present phase: bytes and rate, or epoch, loss and accuracy. */
export function jobFigures(job: JobState): string[] {
  const attempt = latestAttempt(job);
  if (attempt?.agent === undefined) return [];
  if (job.status !== 'running' && job.outcome !== 'success') return [];
  if (!isMovingData(attempt)) return trainingFigures(attempt.agent.training);
  if (attempt.agent.fetches.length === 0) return [];
  const { bytes, total, rate } = bytesOf(attempt.agent.fetches);
  return [
    total === undefined ? formatSize(bytes) : sizeOf(bytes, total),
    ...(rate > 0 ? [`${formatSize(rate)}/s`] : []),
  ];
}

/** What else there is to say about a job now. */
export function jobNotes(job: JobState, now: number): string[] {
  if (job.held !== undefined) return [printable(job.held.message)];
  const attempt = latestAttempt(job);
  if (attempt === undefined) return job.stopRequested && job.status !== 'ended' ? ['stop requested'] : [];
  if (job.status !== 'running') return endNotes(job, attempt);
  const quiet = silence(attempt, now);
  const left = remaining(attempt);
  return [
    ...(quiet === undefined ? [] : [`unknown: nothing heard for ${showMillis(quiet)}`]),
    ...(job.stopRequested ? ['stopping'] : []),
    ...(left === undefined ? [] : [`ETA ${left < 10_000 ? `${Math.ceil(left / 1000)}s` : showMillis(left)}`]),
    ...(isMovingData(attempt) ? serverNotes(attempt) : resumeNotes(attempt)),
  ];
}

const isMovingData = ({ phase }: AttemptState): boolean => phase === 'fetching' || phase === 'unpacking';

const resumeNotes = ({ agent }: AttemptState): string[] =>
  agent?.resumed === undefined ? [] : [resumeWords(agent.resumed)];

function endNotes(job: JobState, attempt: AttemptState): string[] {
  if (attempt.outcome === 'success')
    return (attempt.agent?.outputs ?? [])
      .slice(0, 2)
      .map(({ path, bytes }) => `${printable(path)} ${formatSize(bytes)}`);
  const fault = attempt.fault ?? attempt.agent?.faults.at(-1);
  const what = fault === undefined ? lastHeard(attempt) : printable(fault.message);
  return [job.status === 'waiting' ? `try ${attempt.attempt} ended: ${what}` : what];
}

/** An attempt nobody can tell the end of: how far its agent's own account goes. */
function lastHeard({ outcome, agent }: AttemptState): string {
  if (agent === undefined || agent.outcome !== undefined) return outcome ?? '';
  return `unknown since ${agent.lastAt.slice(0, 19)}Z by its own clock, while ${agent.phase}`;
}

function serverNotes({ agent }: AttemptState): string[] {
  const fetches = agent?.fetches ?? [];
  const current = fetches.find(({ done }) => !done) ?? fetches.at(-1);
  const setbacks = fetches.flatMap((fetch) => fetch.setbacks);
  const last = setbacks.at(-1);
  const count = `${setbacks.length} setback${setbacks.length === 1 ? '' : 's'}`;
  return [
    ...(current === undefined || current.server === '' ? [] : [printable(current.server)]),
    ...(last === undefined ? [] : [`${count}, last ${last.fault.kind} at ${printable(last.server)}`]),
  ];
}

/** `85/170 MB`; each with its unit where they differ. */
function sizeOf(bytes: number, total: number): string {
  const [part, whole] = [formatSize(bytes), formatSize(total)];
  const sameUnit = part.split(' ')[1] === whole.split(' ')[1];
  return `${sameUnit ? (part.split(' ')[0] ?? '') : part}/${whole}`;
}

function trainingFigures(training: TrainingState | undefined): string[] {
  if (training === undefined) return [];
  const { step, steps, loss, accuracy } = training;
  const epoch = showEpoch(training);
  return [
    ...(epoch === '' ? [] : [`epoch ${epoch}`]),
    ...(step === undefined || epoch !== '' ? [] : [`step ${step}${steps === undefined ? '' : `/${steps}`}`]),
    ...(loss === undefined ? [] : [`loss ${showLoss(loss)}`]),
    ...(accuracy === undefined ? [] : [`acc ${(accuracy * 100).toFixed(1)} %`]),
  ];
}

/** `3/5`, `3`, or nothing. */
export function showEpoch({ epoch, epochs }: { epoch?: number; epochs?: number }): string {
  if (epoch === undefined) return '';
  return epochs === undefined ? String(epoch) : `${epoch}/${epochs}`;
}

export const showLoss = (loss: number): string =>
  Number.isFinite(loss) ? String(Number(loss.toPrecision(4))) : String(loss);
