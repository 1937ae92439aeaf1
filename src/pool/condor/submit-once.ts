import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../../base/clock.ts';
import { withLease } from '../../base/lease.ts';
import { identifyProcess, livenessOf, type ProcessIdentity } from '../../base/process-identity.ts';
import type { EventOf } from '../../eventlog/events.ts';
import { readEventLog } from '../../eventlog/read-event-log.ts';
import { Fault } from '../../fault/fault.ts';
import { runFiles } from '../../job/layout.ts';
import type { RunBody } from '../../journal/entry.ts';
import { openJournal, type Journal } from '../../journal/file.ts';
import { readJournal } from '../../journal/read-journal.ts';
import { batchName, condorFiles, roundFiles } from './condor-files.ts';
import { isUnreachable, type CondorTools } from './condor-tools.ts';
import { adString } from './submit-text.ts';

export interface Submitter {
  tools: CondorTools;
  clock: Clock;
  self: ProcessIdentity;
}

const lookEveryMs = 100;
const tryAgain = 'the same command again finds out what became of it, and submits no job twice';

/** How `condor_submit` is asked, and how to tell later what became of it. */
export interface SubmitRequest {
  round: number;
  /** Started, and named in the journal, before it is given its input: until then it submits nothing. */
  command: string;
  args: string[];
  cwd: string;
  input: Buffer | string;
  /** Whether an event of the run's log is of a job that this request made. */
  isOurs: (event: EventOf<'submit' | 'cluster-submit'>) => boolean;
  /** What is true of those jobs in the queue. */
  constraint: string;
  /** What the user should look at when it is refused. */
  file: string;
}

/** HTCondor looked at the request and made nothing of it. */
export class SubmitRefused extends Fault {}

/** Submits a round of a run exactly once. Gives the cluster's number. */
export async function submitOnce(runFolder: string, round: number, submitter: Submitter): Promise<number> {
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  const run = entries.find((entry) => entry.kind === 'run-created')?.run ?? path.basename(runFolder);
  const batch = batchName(run, round);
  const file = path.join(runFolder, roundFiles(round).submit);
  return await requestOnce(runFolder, submitter, {
    round,
    command: submitter.tools.command('condor_submit'),
    args: ['-terse', '-'],
    cwd: runFolder,
    // A description that breaks off has no `queue` and submits nothing.
    input: await readFile(file),
    isOurs: ({ details }) => details.batchName === batch,
    constraint: `JobBatchName == ${adString(batch)}`,
    file,
  });
}

/**
 * Makes a request exactly once, whoever is killed when: `condor_submit` is started and named in the journal before it
 * is told to go, so that whoever comes later waits for its end and then looks for the cluster. Gives the
 * cluster's number.
 */
export async function requestOnce(
  runFolder: string,
  submitter: Submitter,
  request: SubmitRequest,
): Promise<number> {
  const lease = path.join(runFolder, condorFiles.submitting);
  const isThisRound = (entry: { round?: number }): boolean => (entry.round ?? 1) === request.round;
  return await withLease(lease, submitter.self, submitter.clock, async () => {
    const file = path.join(runFolder, runFiles.journal);
    const { entries } = await readJournal(file);
    const submitted = entries.filter((entry) => entry.kind === 'submitted').find(isThisRound);
    if (submitted !== undefined) return submitted.cluster;
    await using journal = await openJournal(file, submitter.clock);
    const asking = entries.filter((entry) => entry.kind === 'submitting').findLast(isThisRound);
    const found = asking && (await findCluster(runFolder, request, asking.by, submitter));
    const cluster = found ?? (await submit(request, journal, submitter));
    await journal.append({ kind: 'submitted', cluster, round: request.round });
    return cluster;
  });
}

/** The cluster that an earlier `condor_submit`, whose answer nobody heard, may have made. */
async function findCluster(
  runFolder: string,
  { isOurs, constraint }: SubmitRequest,
  by: ProcessIdentity,
  { tools, clock }: Submitter,
): Promise<number | undefined> {
  const deadline = clock.monotonic() + tools.patienceMs;
  while (livenessOf(by) === 'alive') {
    if (clock.monotonic() > deadline) throw tools.silence(`condor_submit (process ${by.pid})`, tryAgain);
    await clock.sleep(lookEveryMs);
  }
  const log = path.join(runFolder, condorFiles.eventLog);
  try {
    for await (const event of readEventLog(log))
      if ((event.kind === 'submit' || event.kind === 'cluster-submit') && isOurs(event)) return event.cluster;
  } catch (error) {
    if (!(error instanceof Fault)) throw error; // no log yet
  }
  const cluster = Number.parseInt(
    await tools.ask('condor_q', ['-constraint', constraint, '-af', 'ClusterId']),
    10,
  );
  return Number.isNaN(cluster) ? undefined : cluster;
}

async function submit(
  { round, command, args, cwd, input, file }: SubmitRequest,
  journal: Journal<RunBody>,
  { tools, clock }: Submitter,
): Promise<number> {
  const child = spawn(command, args, {
    cwd,
    env: { ...tools.env },
    // In a session of its own: a Ctrl-C in the terminal must not end it half-way.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => void (said.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => void (said.err += chunk.toString()));
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  ended.catch(() => undefined);
  const by = identifyProcess(child.pid ?? 0);
  if (by !== undefined) await journal.append({ kind: 'submitting', by, round });
  child.stdin.on('error', () => undefined); // its exit tells
  child.stdin.end(input);
  const code = await inTime(child, ended, tools, clock);
  const cluster = Number.parseInt(said.out, 10);
  if (code === 0 && !Number.isNaN(cluster)) return cluster;
  const told = toldBy(said);
  const message = `condor_submit refused the run: ${told}`;
  if (!isUnreachable(told))
    throw new SubmitRefused('pool-unreachable', message, {
      fix: `see ${file}; the same command again submits it`,
      about: file,
    });
  throw new Fault('pool-unreachable', message, {
    fix: 'the scheduler does not answer: try the same command again in a while; `condor_q` shows when it is back',
    about: file,
  });
}

/** The exit code of `condor_submit`. One that takes too long is left alone: ended half-way it might have submitted. */
async function inTime(
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  ended: Promise<number | null>,
  tools: CondorTools,
  clock: Clock,
): Promise<number | null> {
  const over = new AbortController();
  try {
    const late = clock.sleep(tools.patienceMs, over.signal).then(() => 'late' as const);
    late.catch(() => undefined);
    const code = await Promise.race([ended, late]);
    if (code !== 'late') return code;
  } finally {
    over.abort();
  }
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  throw tools.silence('condor_submit', tryAgain);
}

function toldBy({ out, err }: { out: string; err: string }): string {
  const text = err.trim() === '' ? out.trim() : err.trim();
  return text === '' ? 'it said nothing' : text.replace(/\s*\n\s*/g, ' ').slice(0, 1000);
}
