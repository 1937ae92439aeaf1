import { spawn, type ChildProcessByStdio } from 'node:child_process';
import path from 'node:path';
import type { Readable, Writable } from 'node:stream';
import type { Clock } from '@updraft/base';
import { identifyProcess, livenessOf, type ProcessIdentity, withLease } from '@updraft/base/processes';
import { Fault } from '@updraft/account/fault';
import { runFiles } from '@updraft/account/run-folder';
import { type Journal, openJournal, readJournal, type RunBody } from '@updraft/account/journal';
import type { SchedulerTools } from './scheduler-tools.ts';

export interface Submitter<Tools extends SchedulerTools = SchedulerTools> {
  tools: Tools;
  clock: Clock;
  self: ProcessIdentity;
}

/** A submission to a scheduler, and how to find out later what it did. */
export interface SubmitRequest {
  round: number;
  /** Lease of the process that submits: a path in the run's folder. */
  lease: string;
  /** The command that submits, for messages. */
  name: string;
  /** Started, and recorded in the journal, before it gets its input: until then it submits nothing. */
  command: string;
  args: string[];
  cwd: string;
  input: Buffer;
  /** The scheduler's number for what an earlier such request submitted, if anything. */
  find: () => Promise<number | undefined>;
  /** What the user should read if it is refused. */
  file: string;
}

const pollMs = 100;
const retryAdvice = 'run the same command again, which checks what was submitted and submits no job twice';

/**
 * Submits exactly once, even if a process is killed at any point: the submitting command is started and recorded in the
 * journal before it gets its input, so that a later process waits for its end and then looks for its jobs. Returns the
 * scheduler's number.
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

/** What an earlier request submitted whose answer was lost. */
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
    // In its own session: Ctrl-C in the terminal must not interrupt it.
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
  child.stdin.on('error', () => undefined); // the exit code shows it
  child.stdin.end(input);
  const code = await exitInTime(name, child, ended, { tools, clock });
  const cluster = Number.parseInt(said.out, 10);
  if (code === 0 && !Number.isNaN(cluster)) return cluster;
  throw refusal(name, outputOf(said), file, tools);
}

function refusal(name: string, reported: string, file: string, { info }: SchedulerTools): Fault {
  const message = `${name} refused the run: ${reported}`;
  if (!info.isUnreachable(reported))
    return new Fault('pool-unreachable', message, {
      fix: `correct ${file}, then run the same command again`,
      about: file,
    });
  return new Fault('pool-unreachable', message, {
    fix: `the scheduler does not answer: run the same command again later; \`${info.queue}\` shows when it is back`,
    about: file,
  });
}

/** The exit code of the command. One that takes too long is left running: it may have submitted half-way. */
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
  return text === '' ? 'it printed nothing' : text.replace(/\s*\n\s*/g, ' ').slice(0, 1000);
}
