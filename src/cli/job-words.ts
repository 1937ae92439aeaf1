import { printable } from '../base/printable.ts';
import { formatSize } from '../job/units.ts';
import type { AttemptState, JobState, TrainingState } from '../journal/state.ts';
import { showMillis } from '../report/show-millis.ts';
import { bytesOf, latestAttempt, remaining, silence } from './job-progress.ts';

/** One word for how a job stands: its outcome, its attempt's phase, or that it waits. */
export function jobWord(job: JobState): string {
  if (job.status === 'ended') return job.outcome ?? 'lost';
  return job.status === 'running' ? (latestAttempt(job)?.phase ?? 'queued') : 'waiting';
}

/** What there is to say about a job now, the most telling first. */
export function jobDetail(job: JobState, now: number): string {
  const attempt = latestAttempt(job);
  if (attempt === undefined) return job.stopRequested ? 'stop requested' : '';
  if (job.status !== 'running') return endedDetail(job, attempt);
  const quiet = silence(attempt, now);
  return [
    ...(quiet === undefined ? [] : [`unknown: nothing heard for ${showMillis(quiet)}`]),
    ...(job.stopRequested ? ['stopping'] : []),
    ...phaseDetail(attempt),
    ...setbackDetail(attempt),
  ].join(', ');
}

function endedDetail(job: JobState, attempt: AttemptState): string {
  if (job.outcome === 'success') return successDetail(attempt);
  const fault = attempt.fault ?? attempt.agent?.faults.at(-1);
  const next = job.status === 'waiting' ? 'waits for another try: ' : '';
  return next + (fault === undefined ? (attempt.outcome ?? '') : printable(fault.message));
}

function successDetail({ agent }: AttemptState): string {
  if (agent === undefined) return '';
  return [
    ...(agent.training === undefined ? [] : figures(agent.training)),
    ...agent.outputs.slice(0, 2).map(({ path, bytes }) => `${printable(path)} ${formatSize(bytes)}`),
  ].join(', ');
}

function phaseDetail(attempt: AttemptState): string[] {
  const { agent, phase } = attempt;
  if (agent === undefined) return [];
  const left = remaining(attempt);
  const eta = left === undefined ? [] : [`ETA ${showMillis(left)}`];
  if (phase === 'training') return [...(agent.training === undefined ? [] : figures(agent.training)), ...eta];
  if (phase !== 'fetching' && phase !== 'unpacking') return [];
  const current = agent.fetches.find(({ done }) => !done) ?? agent.fetches.at(-1);
  if (current === undefined) return [];
  const { bytes, total, rate } = bytesOf(agent.fetches);
  return [
    total === undefined ? formatSize(bytes) : `${formatSize(bytes)} of ${formatSize(total)}`,
    ...(rate > 0 ? [`${formatSize(rate)}/s`] : []),
    ...eta,
    ...(current.server === '' ? [] : [`from ${printable(current.server)}`]),
  ];
}

/** Epoch, step, loss and accuracy, as far as the training told. */
export function figures({ epoch, epochs, step, steps, loss, accuracy }: TrainingState): string[] {
  const of = (count: number, total: number | undefined) =>
    total === undefined ? String(count) : `${count}/${total}`;
  return [
    ...(epoch === undefined ? [] : [`epoch ${of(epoch, epochs)}`]),
    ...(step === undefined || epoch !== undefined ? [] : [`step ${of(step, steps)}`]),
    ...(loss === undefined ? [] : [`loss ${showLoss(loss)}`]),
    ...(accuracy === undefined ? [] : [`accuracy ${(accuracy * 100).toFixed(1)} %`]),
  ];
}

export const showLoss = (loss: number): string =>
  Number.isFinite(loss) ? String(Number(loss.toPrecision(4))) : String(loss);

function setbackDetail({ agent }: AttemptState): string[] {
  const setbacks = agent?.fetches.flatMap((fetch) => fetch.setbacks) ?? [];
  const last = setbacks.at(-1);
  if (last === undefined) return [];
  return [
    `${setbacks.length} setback${setbacks.length === 1 ? '' : 's'}, last ${last.fault.kind} at ${printable(last.server)}`,
  ];
}
