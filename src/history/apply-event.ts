import { once } from './once.ts';
import type { EvictedDetails, FileTransferDetails, Resource, Termination } from '../eventlog/details.ts';
import type { EventOf, LogEvent } from '../eventlog/events.ts';
import type { Cause } from '../codes/causes.ts';
import { causeOf, exitCause, removalCause } from '../diagnosis/cause-of.ts';
import type { AttemptHistory } from './history.ts';
import type { JobFold } from './job-fold.ts';
import { gpuOf, machineOf, siteOf } from './place.ts';

/** Text that is looked at of a reason, whatever a container printed into it. */
const longestReason = 4000;

/** Takes an event into the account of its job. */
export function applyEvent(job: JobFold, event: LogEvent): void {
  switch (event.kind) {
    case 'execute':
      execute(job, event);
      return;
    case 'file-transfer':
      fileTransfer(job, event.details);
      return;
    case 'job-ad-information':
      if (job.attempt?.site === '' && event.text.includes('GLIDEIN'))
        job.attempt.site = siteOf(event.details.attributes);
      return;
    case 'terminated':
    case 'evicted':
    case 'shadow-exception':
    case 'aborted':
    case 'held':
    case 'released':
    case 'reconnect-failed':
      endings(job, event);
      return;
    case 'remote-error':
      remoteError(job, event);
      return;
    default:
      interlude(job, event);
  }
}

function remoteError(job: JobFold, { details }: EventOf<'remote-error'>): void {
  if (job.attempt === undefined) return;
  if (job.attempt.machine === '') job.attempt.machine = machineOf(details.host, undefined);
  job.complaint = details.text.slice(0, longestReason);
}

/** What happens in the middle of an attempt. */
function interlude(job: JobFold, event: LogEvent): void {
  if (!job.inAttempt) return;
  if (event.kind === 'suspended') job.enter('suspended');
  else if (event.kind === 'unsuspended') job.enter('executing');
  else if (event.kind === 'disconnected') job.enter('cut-off');
  // The job went on while nobody could see it.
  else if (event.kind === 'reconnected' && job.doing === 'cut-off') job.rename('executing');
  else if (event.kind === 'checkpointed') {
    job.enter('output');
    job.enter('executing');
  }
}

function execute(job: JobFold, { details }: EventOf<'execute'>): void {
  const expected = job.doing === 'queue' || job.doing === 'input' || job.doing === 'starting';
  if (expected && !job.executed) job.enter('executing');
  else job.begin('executing');
  const { attempt } = job;
  if (attempt === undefined) return;
  attempt.site = siteOf(details.attributes) || attempt.site;
  attempt.machine = machineOf(details.slot, details.host) || attempt.machine;
  attempt.gpu = gpuOf(details.attributes) || attempt.gpu;
}

function fileTransfer(job: JobFold, { direction, step, host }: FileTransferDetails): void {
  if (direction === 'output') {
    if (!job.inAttempt) return;
    if (step === 'finished') job.enter(job.executed ? 'executing' : 'starting');
    else job.enter('output');
  } else if (step === 'queued') job.begin('queue');
  else if (step === 'started') {
    if (job.doing === 'queue') job.enter('input');
    else job.begin('input');
  } else if (job.doing === 'input') job.enter('starting');
  if (host !== undefined && job.attempt?.machine === '') job.attempt.machine = machineOf(undefined, host);
}

type EndingKind =
  'terminated' | 'evicted' | 'shadow-exception' | 'aborted' | 'held' | 'released' | 'reconnect-failed';

function endings(job: JobFold, event: EventOf<EndingKind> & LogEvent): void {
  switch (event.kind) {
    case 'terminated':
      terminated(job, event);
      return;
    case 'evicted':
      evicted(job, event.details);
      return;
    case 'shadow-exception':
      job.end(takenAway(job), accountCause(job, { reason: event.details.message }));
      return;
    case 'aborted': {
      const { reason } = event.details;
      job.remove(removalCause(reason ?? '')[0], reason);
      return;
    }
    case 'held':
      job.hold(accountCause(job, event.details), event.details.reason);
      return;
    case 'released':
      job.release();
      return;
    case 'reconnect-failed':
      job.end('evicted', causeOf(1008, undefined, event.details.reason));
  }
}

const takenAway = ({ executed }: JobFold): 'evicted' | 'transfer-failed' =>
  executed ? 'evicted' : 'transfer-failed';

interface Said {
  code?: number;
  subcode?: number;
  reason?: string;
}

function accountCause({ complaint }: JobFold, { code, subcode, reason = '' }: Said): Cause {
  const words = reason.trim() === '' ? complaint : reason;
  return causeOf(code, subcode, words.slice(0, longestReason));
}

function terminated(job: JobFold, { details }: EventOf<'terminated'>): void {
  // An event that was cut off before it said how: nothing is known yet.
  if (details.termination === undefined) return;
  if (!job.inAttempt) job.beginUnseen();
  if (job.attempt !== undefined) keepFigures(job.attempt, details);
  const found = exitCause(details.termination, true);
  const cause = found === 'none' ? undefined : found;
  const ending = cause === undefined ? 'success' : cause === 'wrong-output' ? 'wrong-output' : 'failed';
  job.end(ending, cause);
  const outcome = ending === 'wrong-output' ? 'wrongOutput' : ending;
  job.finish(outcome, cause, cause && describe(details.termination));
}

function describe(termination: Termination): string {
  return termination.normal
    ? `ended with exit code ${termination.returnValue}`
    : `ended by signal ${termination.signal}`;
}

function evicted(job: JobFold, details: EvictedDetails): void {
  const { attempt } = job;
  if (attempt === undefined) return;
  keepFigures(attempt, details);
  attempt.checkpointed = details.checkpointed;
  if (details.requeued) {
    const cause = exitCause(details.termination, true);
    job.end('requeued', cause === 'none' ? 'job-policy' : cause);
    return;
  }
  const isBare = details.code === undefined && (details.reason ?? '').trim() === '' && job.complaint === '';
  job.end(takenAway(job), isBare ? 'evicted' : accountCause(job, details));
}

interface Figures {
  bytes: { runReceived?: number; runSent?: number };
  resources: readonly Resource[];
}

/** Rows that say what was used; the rest is not worth a million times the memory. */
function keepFigures(attempt: AttemptHistory, { bytes, resources }: Figures): void {
  attempt.resources = resources
    .filter(({ usage, request }) => usage !== undefined && request !== undefined)
    .map(({ name, unit, usage = 0, request = 0 }) => ({
      name: once(name),
      unit: once(unit ?? ''),
      usage,
      request,
    }));
  if (bytes.runReceived !== undefined) attempt.receivedBytes = bytes.runReceived;
  if (bytes.runSent !== undefined) attempt.sentBytes = bytes.runSent;
}
