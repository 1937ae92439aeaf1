import { once } from './once.ts';
import type { EvictedDetails, FileTransferDetails, Resource, Termination } from '../../eventlog/details.ts';
import type { EventOf, LogEvent } from '../../eventlog/events.ts';
import { kinds } from '../../fault/kinds.ts';
import { causeOf, transferCause, type Cause } from './causes.ts';
import type { LoggedAttempt } from './history.ts';
import type { JobFold } from './job-fold.ts';
import { gpuOf, machineOf, siteOf } from './place.ts';

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
      if (job.attempt?.machine === '') job.attempt.machine = machineOf(event.details.host, undefined);
      return;
    default:
      interlude(job, event);
  }
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
      if (job.executed) job.end('evicted', exceptionCause(event.details.message));
      else job.end('transfer-failed', transferCause(event.details.message));
      return;
    case 'aborted': {
      const cause = /expression|periodic_remove/i.test(event.details.reason ?? '') ? 'policy' : 'user';
      job.remove(cause, event.details.reason);
      return;
    }
    case 'held': {
      const { code, subcode, reason } = event.details;
      job.hold(causeOf(code, subcode, reason), reason);
      return;
    }
    case 'released':
      job.release();
      return;
    case 'reconnect-failed':
      job.end('evicted', 'disconnected');
  }
}

function exceptionCause(message: string): Cause {
  const cause = causeOf(undefined, undefined, message);
  return cause === 'other' ? 'disconnected' : cause;
}

function terminated(job: JobFold, { details }: EventOf<'terminated'>): void {
  // An event that was cut off before it said how: nothing is known yet.
  if (details.termination === undefined) return;
  if (!job.inAttempt) job.beginUnseen();
  if (job.attempt !== undefined) keepFigures(job.attempt, details);
  const cause = terminationCause(details.termination);
  const ending = cause === undefined ? 'success' : cause === 'wrong-output' ? 'wrong-output' : 'failed';
  job.end(ending, cause);
  const outcome = ending === 'wrong-output' ? 'wrongOutput' : ending;
  job.finish(outcome, cause, cause && describe(details.termination));
}

/** Undefined for a good end. Exit codes that are Updraft's own tell more than that it failed. */
function terminationCause(termination: Termination): Cause | undefined {
  if (!termination.normal) return 'signal';
  if (termination.returnValue === 0) return undefined;
  return ownCauses.get(termination.returnValue) ?? 'exit-code';
}

const ownCauses = new Map<number, Cause>(
  Object.entries(kinds)
    .filter(([, { exit }]) => exit >= 90)
    .map(([kind, { exit }]) => [exit, kind as Cause]),
);

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
    const cause = details.termination && terminationCause(details.termination);
    job.end('requeued', cause ?? 'policy');
    return;
  }
  const { code, subcode, reason } = details;
  const cause = code === undefined && reason === undefined ? 'evicted' : causeOf(code, subcode, reason);
  if (job.executed) job.end('evicted', cause === 'other' ? 'evicted' : cause);
  else job.end('transfer-failed', cause);
}

interface Figures {
  bytes: { runReceived?: number };
  resources: readonly Resource[];
}

/** Rows that say what was used; the rest is not worth a million times the memory. */
function keepFigures(attempt: LoggedAttempt, { bytes, resources }: Figures): void {
  attempt.resources = resources
    .filter(({ usage, request }) => usage !== undefined && request !== undefined)
    .map(({ name, unit, usage = 0, request = 0 }) => ({
      name: once(name),
      unit: once(unit ?? ''),
      usage,
      request,
    }));
  if (bytes.runReceived !== undefined) attempt.receivedBytes = bytes.runReceived;
}
