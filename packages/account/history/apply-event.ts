import { defined } from '@updraft/base';
import { withoutSecrets } from '@updraft/base/secrets';
import type { Cause } from '../codes/causes.ts';
import { disconnectedCode, removedCode } from '../codes/evictions.ts';
import { causeOf, exitCause, removalCause } from '../diagnosis/cause-of.ts';
import { exitMeaning, exitWords } from '../diagnosis/exit-meaning.ts';
import { parseMemory } from '../diagnosis/facts.ts';
import {
  type EventOf,
  type EvictedDetails,
  type LogEvent,
  ownCopy,
  type Resource,
  type Termination,
} from '@updraft/htcondor/eventlog';
import { decodeLive } from '../journal/codec.ts';
import { type AttemptEnd, type AttemptHistory, endAsDone, type UsedResource } from './history.ts';
import { maxTextChars, type JobFold, type EventReason } from './job-fold.ts';
import { gpuModels, machineOf, intern, siteOf } from './worker.ts';

export function applyEvent(job: JobFold, event: LogEvent): void {
  switch (event.kind) {
    case 'execute':
      execute(job, event);
      return;
    case 'file-transfer':
      fileTransfer(job, event);
      return;
    case 'job-ad-information':
      jobAd(job, event);
      return;
    case 'image-size': {
      const details = job.attempt?.details;
      if (details) details.memoryMb = Math.max(details.memoryMb, event.read('memoryUsageMb') ?? 0);
      return;
    }
    case 'remote-error':
      complain(job, event);
      return;
    case 'generic':
      renumber(job, event.details.text);
      return;
    case 'submit':
      return;
    default:
      if (!endings(job, event)) interruption(job, event);
  }
}

/** In the access point's log of all jobs, this event names the owner. */
function jobAd(job: JobFold, event: EventOf<'job-ad-information'> & LogEvent): void {
  if (job.attempt?.site === '' && event.text.includes('GLIDEIN'))
    job.attempt.site = siteOf(event.details.attributes);
  if (job.job.owner !== undefined || !event.text.includes('Owner')) return;
  const owner = event.details.attributes['Owner'];
  if (typeof owner === 'string') job.job.owner = intern(owner);
}

/**
 * HTCondor also counts starts that a machine refused and that the log does not show. The agent reports the count, so
 * its line and its journal belong to the attempt under way.
 */
function renumber(job: JobFold, text: string): void {
  const number = decodeLive(text)?.attempt ?? 0;
  if (job.attempt === undefined || !Number.isInteger(number) || number <= job.attempt.number) return;
  job.attempt.number = number;
  job.announce();
}

/** The attempt of an event, whose start may be missing in the log. */
function underWay(job: JobFold): AttemptHistory | undefined {
  if (job.attempt === undefined && job.job.attempts.length === 0 && job.ended === undefined)
    job.startUnseen();
  return job.attempt;
}

function complain(job: JobFold, { details }: EventOf<'remote-error'>): void {
  const attempt = underWay(job);
  if (attempt === undefined) return;
  if (attempt.machine === '') attempt.machine = machineOf(details.host, undefined);
  job.complaint = safeReason(details.text);
  if (attempt.details !== undefined && job.evidence !== undefined)
    attempt.details.complaint = { text: job.complaint, evidence: job.evidence };
}

function interruption(job: JobFold, event: LogEvent): void {
  const attempt = interruptions.has(event.kind) ? underWay(job) : undefined;
  if (attempt === undefined) return;
  if (event.kind === 'suspended') job.enter('suspended');
  else if (event.kind === 'unsuspended') job.enter('training');
  else if (event.kind === 'disconnected') job.enter('cut-off');
  // The job continued while it was disconnected.
  else if (event.kind === 'reconnected' && job.doing === 'cut-off') job.rename('training');
  else if (event.kind === 'checkpointed') {
    job.enter('returning');
    job.enter('training');
  }
  if (event.kind !== 'reconnected' && event.kind !== 'disconnected') return;
  if (event.kind === 'reconnected' && attempt.details !== undefined) attempt.details.reconnects += 1;
  if (attempt.machine === '') {
    attempt.machine = machineOf(event.details.slot, event.details.host);
    job.announce();
  }
  job.connect(event.kind === 'disconnected');
}

const interruptions = new Set<LogEvent['kind']>([
  'suspended',
  'unsuspended',
  'disconnected',
  'reconnected',
  'checkpointed',
]);

function execute(job: JobFold, event: EventOf<'execute'>): void {
  const expected = job.doing === 'queued' || job.doing === 'fetching' || job.doing === 'preparing';
  if (expected && !job.executed) job.enter('training');
  else job.begin('training');
  const { attempt } = job;
  if (attempt === undefined) return;
  const attributes = event.read('attributes');
  attempt.site = siteOf(attributes) || attempt.site;
  attempt.machine =
    machineOf(event.read('slot'), undefined) || machineOf(undefined, event.read('host')) || attempt.machine;
  attempt.gpu = gpuModels(attributes) || attempt.gpu;
  const gpus = attributes['GPUs'];
  if (typeof gpus === 'number') attempt.gpus = gpus;
  job.announce();
}

function fileTransfer(job: JobFold, event: EventOf<'file-transfer'>): void {
  const [direction, step] = [event.read('direction'), event.read('step')];
  if (direction === 'output') {
    if (job.attempt === undefined) return;
    if (step === 'finished') {
      if (job.attempt.details && job.executed) job.attempt.details.saves += 1;
      job.enter(job.executed ? 'training' : 'preparing');
    } else job.enter('returning');
  } else if (step === 'queued') job.begin('queued');
  else if (step === 'started') {
    if (job.doing === 'queued') job.enter('fetching');
    else job.begin('fetching');
  } else if (job.doing === 'fetching') job.enter('preparing');
  else return;
  if (job.attempt?.machine === '') job.attempt.machine = machineOf(undefined, event.read('host'));
  job.announce();
}

/** Returns whether the event is about an end. */
function endings(job: JobFold, event: LogEvent): boolean {
  switch (event.kind) {
    case 'terminated':
      terminated(job, event);
      return true;
    case 'evicted':
      evicted(job, event.details);
      return true;
    case 'shadow-exception': {
      const said = { reason: event.details.message };
      // An attempt that fails before it starts leaves only this event.
      if (job.attempt === undefined) job.begin('preparing');
      job.end(takenAway(job), accountCause(job, said), endOf('exception', said));
      return true;
    }
    case 'aborted': {
      const { reason = '' } = event.details;
      job.remove(removalCause(reason)[0], endOf('removed', { reason }));
      return true;
    }
    case 'held': {
      const cause = accountCause(job, event.details);
      job.hold(cause, endOf('vacated', event.details));
      if (cause === 'memory-exceeded') recordMemory(job.job.attempts.at(-1), event.details.reason);
      return true;
    }
    case 'released':
      job.release(safeReason(event.details.reason));
      return true;
    case 'reconnect-failed': {
      const said = { code: disconnectedCode, reason: event.details.reason };
      if (underWay(job))
        job.end('evicted', causeOf(said.code, undefined, said.reason), endOf('vacated', said));
      return true;
    }
    case 'post-script-terminated': {
      const { termination } = event.details;
      if (termination === undefined || job.attempt !== undefined) return true;
      const isGood = exitCause(termination, false) === 'none';
      if (isGood && job.ended !== 'success') job.finish(endAsDone(job.job).outcome, undefined, '');
      else if (!isGood && job.ended === 'success')
        job.finish('failed', 'script-failed', `the POST script of its node ${describe(termination)}`);
      return true;
    }
    default:
      return false;
  }
}

const takenAway = ({ executed }: JobFold): 'evicted' | 'transfer-failed' =>
  executed ? 'evicted' : 'transfer-failed';

/** What is kept of HTCondor's words: every view shows them without secrets. */
const safeReason = (words = ''): string => ownCopy(withoutSecrets(words.slice(0, maxTextChars)));

const endOf = (
  how: AttemptEnd['how'],
  { code, subcode, reason = '' }: EventReason,
  termination?: Termination,
  resources: readonly Resource[] = [],
): AttemptEnd => ({
  how,
  code,
  subcode,
  reason: safeReason(reason),
  termination,
  // The rest has nothing to do with an end.
  resources: resources.filter(({ name }) => name === 'Memory' || name === 'Disk').map(withOwnNames),
});

/** Without its devices. */
const withOwnNames = ({ name, unit, usage, request, allocated }: Resource): Resource =>
  defined({ name: intern(name), unit: unit && intern(unit), usage, request, allocated });

function accountCause({ complaint }: JobFold, { code, subcode, reason = '' }: EventReason): Cause {
  const words = reason.trim() === '' ? complaint : reason;
  return causeOf(code, subcode, words.slice(0, maxTextChars));
}

function terminated(job: JobFold, event: EventOf<'terminated'>): void {
  const termination = event.read('termination');
  // A truncated event: the end is not known yet.
  if (termination === undefined) return;
  const resources = event.read('resources');
  if (job.attempt === undefined) job.startUnseen();
  if (job.attempt !== undefined) recordUsage(job.attempt, { bytes: event.read('bytes'), resources });
  const found = exitCause(termination, job.ours);
  const cause = found === 'none' ? undefined : found;
  const ending = cause === undefined ? 'success' : cause === 'wrong-output' ? 'wrong-output' : 'failed';
  job.end(ending, cause, endOf('exited', {}, termination, cause === undefined ? [] : resources));
  job.finish(ending, cause, cause === undefined ? '' : describe(termination));
}

function describe(termination: Termination): string {
  const meaning = exitMeaning(termination);
  const how = exitWords(termination);
  return meaning === undefined ? how : `${how}. ${meaning}`;
}

function evicted(job: JobFold, details: EvictedDetails): void {
  const attempt = underWay(job);
  if (attempt === undefined) return;
  const { requeued, termination, resources, code } = details;
  recordUsage(attempt, details);
  attempt.checkpointed = details.checkpointed;
  if (requeued) {
    const cause = exitCause(termination, job.ours);
    const end = endOf('exited', {}, termination, resources);
    job.end('requeued', cause === 'none' ? 'job-policy' : cause, end);
    return;
  }
  // The next event says by whom.
  if (code === removedCode) return;
  const isBare = code === undefined && (details.reason ?? '').trim() === '' && job.complaint === '';
  const cause = isBare ? 'evicted' : accountCause(job, details);
  job.end(takenAway(job), cause, endOf('vacated', details, undefined, resources));
}

/** Keeps only rows with a measured use: a log may have a million jobs. */
function recordUsage(
  attempt: AttemptHistory,
  { bytes, resources }: { bytes: { runReceived?: number; runSent?: number }; resources: readonly Resource[] },
): void {
  const rows = resources.filter(({ usage, request }) => usage !== undefined && request !== undefined);
  attempt.resources = tableOf(rows);
  if (bytes.runReceived !== undefined) attempt.receivedBytes = bytes.runReceived;
  if (bytes.runSent !== undefined) attempt.sentBytes = bytes.runSent;
}

const internedRows = new Map<string, UsedResource>();
const maxInternedRows = 20_000;

/** Keeps one copy of a row that many jobs have, such as one CPU of one. */
function internRow({ name, unit = '', usage = 0, request = 0 }: Resource): UsedResource {
  const key = `${name} ${unit} ${usage} ${request}`;
  const same = internedRows.get(key);
  if (same !== undefined) return same;
  const row = { name: intern(name), unit: intern(unit), usage, request };
  if (internedRows.size < maxInternedRows) internedRows.set(ownCopy(key), row);
  return row;
}

let latestTable: readonly UsedResource[] = [];

/** Attempts that follow each other often have the same rows: then one list is enough. */
function tableOf(rows: readonly Resource[]): readonly UsedResource[] {
  const isSame = ({ name, unit = '', usage, request }: Resource, at: number): boolean => {
    const other = latestTable[at];
    return name === other?.name && unit === other.unit && usage === other.usage && request === other.request;
  };
  if (rows.length !== latestTable.length || !rows.every(isSame)) latestTable = rows.map(internRow);
  return latestTable;
}

/** Memory use from the reason of a hold, if it is more than the table shows. */
function recordMemory(attempt: AttemptHistory | undefined, reason = ''): void {
  const said = parseMemory(reason);
  if (attempt === undefined || said === undefined) return;
  const { resources } = attempt;
  const at = resources.findIndex(({ name }) => name === 'Memory');
  const row = resources[at] ?? { name: 'Memory', unit: 'MB', usage: said.used, request: said.asked };
  // A copy: other attempts may have the same row.
  const more = { ...row, usage: Math.max(row.usage, said.used) };
  attempt.resources = at === -1 ? [...resources, more] : resources.with(at, more);
}
