import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, closeSync, openSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import path from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type Env, tried } from '@updraft/base';
import { appendHere } from '@updraft/base/disk';
import { Fault } from '@updraft/account/fault';
import { processesOf, type WorkOrder } from '../../job/job.ts';
import { attemptFiles } from '@updraft/account/run-folder';
import type { Attempt, Context } from '../attempt.ts';
import type { Scratch } from '../scratch.ts';
import type { CommandEnd, Log, RankEnv, StartedRank } from './command-end.ts';
import { attemptProcesses, killProcesses } from './processes.ts';

/** With this exit code, a training or the agent says that it saved a checkpoint and wants to be restarted. */
export const checkpointExit = 85;

export interface Shell {
  /** Of each of its processes on this node; also the ids of their process groups and sessions. */
  pids: readonly number[];
  /** Resolves when the command has ended and no process of its sessions is left. */
  ended: Promise<CommandEnd>;
  /** Its processes may end by themselves, until this aborts, even after the shell is gone. */
  lenient: { until?: AbortSignal };
  /** Sends a signal to all of them. */
  kill: (name: NodeJS.Signals) => void;
}

const pollMs = 50;
/** Once a process has failed or left, the others have this long to end. */
const partingMs = 15_000;
/** A process that nothing could end may hold what the others printed to. */
const drainMs = 1000;

/**
 * Starts a command in its own session; the kernel appends its output to the logs, even if the agent is dead. With
 * `ranks` it starts one for each, and what the others than rank 0 print has their rank before each line.
 */
export async function startShell(
  command: string,
  attempt: Attempt,
  ranks: readonly (RankEnv | undefined)[] = [undefined],
): Promise<Shell> {
  const { order, scratch, context } = attempt;
  const log: Log = (name, line) => {
    const file = path.join(order.attemptFolder, attemptFiles[name]);
    // A log that cannot grow does not end the training.
    tried(() => appendFileSync(file, `${line}\n`, { mode: 0o600 }));
  };
  const started = await startRanks(command, attempt, ranks, log);
  const pids = started.flatMap(({ pid }) => pid ?? []);
  if (ranks[0] !== undefined) started.push(...(context.nodes?.start(ranks[0], log) ?? []));
  const kill: Shell['kill'] = (name) => {
    for (const one of started) one.kill(name);
  };
  const lenient: Shell['lenient'] = {};
  const finish = async (): Promise<CommandEnd> => {
    const end = await endOfAll(started, lenient, context);
    await waitForGroups(lenient, scratch.root, pids, context);
    killProcesses(scratch.root, context, ...pids);
    await Promise.race([Promise.all(started.map(({ drained }) => drained)), context.clock.sleep(drainMs)]);
    return end;
  };
  return { pids, ended: finish(), lenient, kill };
}

export const startRanks = (
  command: string,
  attempt: Attempt,
  ranks: readonly (RankEnv | undefined)[],
  log: Log,
): Promise<StartedRank[]> => Promise.all(ranks.map((rank) => startOne(command, attempt, rank, log)));

async function startOne(
  command: string,
  { order, scratch, context }: Attempt,
  rank: RankEnv | undefined,
  log: Log,
): Promise<StartedRank> {
  const number = Number(rank?.['RANK'] ?? 0);
  // A save may take as long as the grace, and each line names its rank.
  const seconds = String(Math.max(30, Math.ceil(context.graceMs() / 1000)));
  const ofTorchrun = { TORCH_ELASTIC_SHUTDOWN_TIMEOUT: seconds, PET_TEE: '3' };
  // An empty file as input instead of /dev/null: minimal containers have no /dev.
  const input = openSync(path.join(scratch.root, 'no-input'), 'a+', 0o600);
  const names = ['out', 'err'] as const;
  const logs = number > 0 ? [] : names.map((name) => path.join(order.attemptFolder, attemptFiles[name]));
  const files = logs.map((file) => openSync(file, appendHere, 0o600));
  try {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd: scratch.work,
      env: trainingEnv(order, scratch, { ...ofTorchrun, ...context.env }, rank),
      detached: true,
      stdio: [input, ...(number > 0 ? (['pipe', 'pipe'] as const) : files)],
    });
    const exit = new Promise<CommandEnd>((end) => {
      child.once('exit', (status, signal) => end({ status, ...(signal === null ? {} : { signal }) }));
    });
    const drained = once(child, 'close').catch(() => undefined);
    for (const name of names) copyLines(child[`std${name}`], (line) => log(name, `[rank ${number}] ${line}`));
    await once(child, 'spawn').catch((error: unknown) => {
      throw shellMissing(error as NodeJS.ErrnoException);
    });
    const pid = child.pid ?? 0;
    return { pid, rank: number, exit, drained, kill: (name) => context.kill(-pid, name) };
  } finally {
    for (const file of [input, ...files]) closeSync(file);
  }
}

function copyLines(stream: Readable | null, take: (line: string) => void): void {
  if (stream !== null) createInterface(stream).on('line', take);
}

/** How several processes ended: as the one that failed first, unless rank 0 had left by then to be resumed. */
async function endOfAll(
  started: readonly StartedRank[],
  lenient: Shell['lenient'],
  { clock, signal }: Context,
): Promise<CommandEnd> {
  const left = new Set(started);
  const [parting, over] = [[] as CommandEnd[], new AbortController()];
  const part = (name: NodeJS.Signals): void => {
    // All were asked to end, and have their grace.
    if (lenient.until === undefined && !signal.aborted) for (const one of left) one.kill(name);
  };
  const ends = await Promise.all(
    started.map(async (one) => {
      const { rank, exit } = one;
      const end = await exit;
      left.delete(one);
      const saved = end.status === checkpointExit;
      if (started.length === 1 || parting.length > 0 || end.status === 0 || (saved && rank > 0)) return end;
      parting.push(saved ? end : { ...end, rank });
      part('SIGTERM');
      clock.sleep(partingMs, over.signal).then(() => part('SIGKILL'), Boolean);
      return end;
    }),
  );
  over.abort();
  const [first = { status: null }] = ends;
  return parting[0] ?? ends.find(({ status }) => status === checkpointExit) ?? first;
}

/** A shell that was asked to end is gone at once, while the program in it may still save. */
export async function waitForGroups(
  { until }: Shell['lenient'],
  root: string,
  sessions: readonly number[],
  { clock }: Context,
): Promise<void> {
  while (until?.aborted === false && attemptProcesses(root, ...sessions).length > 0)
    await clock.sleep(pollMs, until).catch(() => undefined);
}

/** Asks the groups to save and end, and waits until they have, or the timeout expires, or the attempt must end. */
export async function requestSave(shell: Shell, context: Context, timeoutMs: number): Promise<void> {
  const { late } = await askToEnd(shell, context, timeoutMs, context.signal);
  // If the attempt must end meanwhile, the usual grace applies.
  if (!context.signal.aborted) late.abort();
}

/** Asks the groups to end, and kills them after the grace. */
export async function stopShell(shell: Shell, context: Context): Promise<CommandEnd> {
  const { over, late } = await askToEnd(shell, context, context.graceMs(), context.forceStop);
  late.abort();
  if (!over.signal.aborted) shell.kill('SIGKILL');
  return await shell.ended;
}

/** Returns when the groups or the time are over, or the signal aborts; they may still end until it is `late`. */
async function askToEnd(shell: Shell, { clock }: Context, ms: number, signal: AbortSignal) {
  const [over, late] = [new AbortController(), new AbortController()];
  void shell.ended.then(() => over.abort());
  shell.lenient.until = late.signal;
  shell.kill('SIGTERM');
  await clock.sleep(ms, AbortSignal.any([signal, over.signal])).catch(() => undefined);
  return { over, late };
}

function shellMissing(error: NodeJS.ErrnoException): Fault {
  return new Fault('command-missing', `/bin/sh cannot be started: ${error.message}`, {
    fix: 'run on a machine or image with a POSIX shell as /bin/sh',
    about: '/bin/sh',
    cause: error,
  });
}

/** Leaves room for socket names: their paths are limited to 107 characters. */
const maxTmpLength = 70;

/** The machine's environment, then Updraft's, then the user's; the chosen Python stays first on the PATH. */
export function trainingEnv(
  order: WorkOrder,
  scratch: Scratch,
  env: Env,
  rank?: RankEnv,
): Record<string, string> {
  const { job, run, attempt, resources } = order;
  const share = resources.cpus / Number(rank?.['LOCAL_WORLD_SIZE'] ?? 1);
  const threads = { OMP_NUM_THREADS: String(Math.max(1, Math.floor(share))) };
  const reported: Record<string, string | undefined> = {
    // Attempts may share a machine: each keeps to the cores it asked for, unless the pool says otherwise.
    ...threads,
    // Lines must arrive when they are printed, or a busy training looks hung.
    PYTHONUNBUFFERED: '1',
    ...env,
    // A pool knows of all cores only.
    ...(rank === undefined ? {} : threads),
    ...(scratch.tmp.length > maxTmpLength ? {} : { TMPDIR: scratch.tmp }),
    UPDRAFT_RUN: run,
    UPDRAFT_JOB: job.id,
    UPDRAFT_ATTEMPT: String(attempt),
    UPDRAFT_CPUS: String(resources.cpus),
    UPDRAFT_GPUS: String(resources.gpus),
    UPDRAFT_SCRATCH: scratch.root,
    UPDRAFT_WORK: scratch.work,
    UPDRAFT_PROGRESS: scratch.progress,
    UPDRAFT_MEAN_LIFE: order.meanLifeSeconds?.toFixed(0),
  };
  if (job.train.checkpoint !== undefined)
    reported['UPDRAFT_CHECKPOINT'] = path.join(scratch.work, job.train.checkpoint);
  for (const { name, into } of order.data)
    reported[`UPDRAFT_DATA_${upperCase(name)}`] = path.join(scratch.work, into);
  Object.assign(reported, job.train.env, rank);
  // Last: a module of the same name that the user brings is the user's.
  reported['PYTHONPATH'] = [reported['PYTHONPATH'], scratch.python].filter(Boolean).join(':');
  reported['PATH'] = [scratch.bin, reported['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'].join(':');
  return Object.fromEntries(
    Object.entries(reported).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

/** What each process of a training finds in its environment, as torchrun names it; nothing if nobody asked for any. */
export async function ranksOf({ order, scratch, context }: Attempt): Promise<(RankEnv | undefined)[]> {
  const local = processesOf(order.job.train, order.resources);
  const all = local * (order.resources.nodes ?? 1);
  if (all === 1 && order.job.train.processes === undefined) return [undefined];
  const same = {
    WORLD_SIZE: `${all}`,
    LOCAL_WORLD_SIZE: `${local}`,
    MASTER_ADDR: context.nodes?.address ?? '127.0.0.1',
    MASTER_PORT: `${await freePort()}`,
  };
  return ranksAt(0, same, scratch);
}

/** The same on one of several nodes, by what all processes have in common. */
export function ranksAt(node: number, same: RankEnv, { progress }: Scratch): RankEnv[] {
  const local = Number(same['LOCAL_WORLD_SIZE']);
  return Array.from({ length: local }, (_, place) => {
    const rank = node * local + place;
    const own = { GROUP_RANK: `${node}`, RANK: `${rank}`, LOCAL_RANK: `${place}` };
    return { ...same, ...own, ...(rank > 0 && { UPDRAFT_PROGRESS: `${progress}.${rank}` }) };
  });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  return port;
}

const upperCase = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
