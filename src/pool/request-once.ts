import { spawn, type ChildProcessByStdio } from 'node:child_process';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { withLease } from '../base/lease.ts';
import { identifyProcess, livenessOf, type ProcessIdentity } from '../base/process-identity.ts';
import { Fault } from '../fault/fault.ts';
import { runFiles } from '../job/layout.ts';
import type { RunBody } from '../journal/entry.ts';
import { openJournal, type Journal } from '../journal/file.ts';
import { readJournal } from '../journal/tail.ts';
import type { SchedulerTools } from './scheduler-tools.ts';

export interface Submitter<Tools extends SchedulerTools = SchedulerTools> {
  tools: Tools;
  clock: Clock;
  self: ProcessIdentity;
}

/** How a scheduler is asked to take jobs, and how to tell later what became of it. */
export interface SubmitRequest {
  round: number;
  /** Held by the process that submits: a folder in the run's. */
  lease: string;
  /** The command that submits, as people know it. */
  name: string;
  /** Started, and named in the journal, before it is given its input: until then it submits nothing. */
  command: string;
  args: string[];
  cwd: string;
  input: Buffer | string;
  /** The number under which the scheduler has what an earlier such request made, if it made anything. */
  find: () => Promise<number | undefined>;
  /** What the user should look at when it is refused. */
  file: string;
}

/** The scheduler looked at the request and made nothing of it. */
export class SubmitRefused extends Fault {}

const pollMs = 100;
const retryAdvice = 'the same command again finds out what became of it, and submits no job twice';

/**
 * Makes a request exactly once, whoever is killed when: the command that submits is started and named in the journal
 * before it is told to go, so that whoever comes later waits for its end and then looks for what it made. Gives the
 * scheduler's number of it.
 */
export async function requestOnce(
  runFolder: string,
  submitter: Submitter,
  request: SubmitRequest,
): Promise<number> {
  const lease = path.join(runFolder, request.lease);
  const isThisRound = (entry: { round?: number }): boolean => (entry.round ?? 1) === request.round;
  return await withLease(lease, submitter.self, submitter.clock, async () => {
    const file = path.join(runFolder, runFiles.journal);
    const { entries } = await readJournal(file);
    const submitted = entries.filter((entry) => entry.kind === 'submitted').find(isThisRound);
    if (submitted !== undefined) return submitted.cluster;
    await using journal = await openJournal(file, submitter.clock);
    const asking = entries.filter((entry) => entry.kind === 'submitting').findLast(isThisRound);
    const found = asking && (await findEarlier(request, asking.by, submitter));
    const cluster = found ?? (await submit(request, journal, submitter));
    await journal.append({ kind: 'submitted', cluster, round: request.round });
    return cluster;
  });
}

/** What an earlier request, whose answer nobody heard, may have made. */
async function findEarlier(
  { name, find }: SubmitRequest,
  by: ProcessIdentity,
  { tools, clock }: Submitter,
): Promise<number | undefined> {
  const deadline = clock.monotonic() + tools.timeoutMs;
  while (livenessOf(by) === 'alive') {
    if (clock.monotonic() > deadline) throw tools.timeoutFault(`${name} (process ${by.pid})`, retryAdvice);
    await clock.sleep(pollMs);
  }
  return await find();
}

async function submit(
  { round, name, command, args, cwd, input, file }: SubmitRequest,
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
  const code = await exitInTime(name, child, ended, { tools, clock });
  const cluster = Number.parseInt(said.out, 10);
  if (code === 0 && !Number.isNaN(cluster)) return cluster;
  throw refusal(name, outputOf(said), file, tools);
}

function refusal(name: string, reported: string, file: string, { info }: SchedulerTools): Fault {
  const message = `${name} refused the run: ${reported}`;
  if (!info.isUnreachable(reported))
    return new SubmitRefused('pool-unreachable', message, {
      fix: `see ${file}; the same command again submits it`,
      about: file,
    });
  return new Fault('pool-unreachable', message, {
    fix: `the scheduler does not answer: try the same command again in a while; \`${info.queue}\` shows when it is back`,
    about: file,
  });
}

/** The exit code of the command. One that takes too long is left alone: ended half-way it might have submitted. */
async function exitInTime(
  name: string,
  child: ChildProcessByStdio<Writable, Readable, Readable>,
  ended: Promise<number | null>,
  { tools, clock }: Omit<Submitter, 'self'>,
): Promise<number | null> {
  const over = new AbortController();
  try {
    const late = clock.sleep(tools.timeoutMs, over.signal).then(() => 'late' as const);
    late.catch(() => undefined);
    const code = await Promise.race([ended, late]);
    if (code !== 'late') return code;
  } finally {
    over.abort();
  }
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream.destroy();
  throw tools.timeoutFault(name, retryAdvice);
}

function outputOf({ out, err }: { out: string; err: string }): string {
  const text = err.trim() === '' ? out.trim() : err.trim();
  return text === '' ? 'it said nothing' : text.replace(/\s*\n\s*/g, ' ').slice(0, 1000);
}
