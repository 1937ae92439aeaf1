import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import type { Env } from '@updraft/base';
import { appendHere } from '@updraft/base/disk';
import { Fault } from '../../fault/fault.ts';
import type { WorkOrder } from '../../job/job.ts';
import { attemptFiles } from '../../job/layout.ts';
import type { Attempt, Context } from '../attempt.ts';
import type { Scratch } from '../scratch.ts';
import type { ExitReadings } from './memory-watch.ts';
import { attemptProcesses, killProcesses } from './processes.ts';

/** How a command ended: by its exit code, or by a signal. */
export interface CommandEnd {
  status: number | null;
  signal?: NodeJS.Signals;
  /** Taken when it ended, unless it succeeded. */
  readings?: ExitReadings;
}

export interface Shell {
  /** Also the id of its process group and session. */
  pid: number;
  /** Resolves when the command has ended and no process of its session is left. */
  ended: Promise<CommandEnd>;
  /** Its processes may end by themselves, until this aborts, even after the shell is gone. */
  lenient: { until?: AbortSignal };
}

const pollMs = 50;

/** Starts a command in its own session; the kernel appends its output to the logs, even if the agent is dead. */
export async function startShell(command: string, { order, scratch, context }: Attempt): Promise<Shell> {
  const log = (name: string): number => openSync(path.join(order.attemptFolder, name), appendHere, 0o600);
  // An empty file as input instead of /dev/null: minimal containers have no /dev.
  const files = [
    openSync(path.join(scratch.root, 'no-input'), 'a+', 0o600),
    log(attemptFiles.out),
    log(attemptFiles.err),
  ];
  try {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd: scratch.work,
      env: trainingEnv(order, scratch, context.env),
      detached: true,
      stdio: files,
    });
    return await new Promise<Shell>((resolve, reject) => {
      child.once('error', (error) => reject(shellMissing(error)));
      const lenient: Shell['lenient'] = {};
      const ended = new Promise<CommandEnd>((end) => {
        child.once('exit', (status, signal) => {
          void waitForGroup(lenient, scratch.root, child.pid ?? 0, context).then(() => {
            killProcesses(scratch.root, context, child.pid);
            end({ status, ...(signal === null ? {} : { signal }) });
          });
        });
      });
      child.once('spawn', () => resolve({ pid: child.pid ?? 0, ended, lenient }));
    });
  } finally {
    for (const file of files) closeSync(file);
  }
}

/** A shell that was asked to end is gone at once, while the program in it may still save. */
async function waitForGroup(
  { until }: Shell['lenient'],
  root: string,
  session: number,
  { clock }: Context,
): Promise<void> {
  while (until?.aborted === false && attemptProcesses(root, session).length > 0)
    await clock.sleep(pollMs, until).catch(() => undefined);
}

/** Asks the group to save and end, and waits until it has, or the timeout expires, or the attempt must end. */
export async function requestSave(shell: Shell, context: Context, timeoutMs: number): Promise<void> {
  const { late } = await askToEnd(shell, context, timeoutMs, context.signal);
  // If the attempt must end meanwhile, the usual grace applies.
  if (!context.signal.aborted) late.abort();
}

/** Asks the group to end, and kills it after the grace. */
export async function stopShell(shell: Shell, context: Context): Promise<CommandEnd> {
  const { over, late } = await askToEnd(shell, context, context.graceMs(), context.forceStop);
  late.abort();
  if (!over.signal.aborted) context.kill(-shell.pid, 'SIGKILL');
  return await shell.ended;
}

/** Returns when the group is `over`, or the time, or the signal aborts; it may still end by itself until it is `late`. */
async function askToEnd(shell: Shell, { clock, kill }: Context, ms: number, signal: AbortSignal) {
  const [over, late] = [new AbortController(), new AbortController()];
  void shell.ended.then(() => over.abort());
  shell.lenient.until = late.signal;
  kill(-shell.pid, 'SIGTERM');
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
export function trainingEnv(order: WorkOrder, scratch: Scratch, env: Env): Record<string, string> {
  const { job, run, attempt, resources } = order;
  const reported: Record<string, string | undefined> = {
    // Attempts may share a machine: each keeps to the cores it asked for, unless the pool says otherwise.
    OMP_NUM_THREADS: String(Math.max(1, Math.floor(resources.cpus))),
    // Lines must arrive when they are printed, or a busy training looks hung.
    PYTHONUNBUFFERED: '1',
    ...env,
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
  Object.assign(reported, job.train.env);
  // Last: a module of the same name that the user brings is the user's.
  reported['PYTHONPATH'] = [reported['PYTHONPATH'], scratch.python].filter(Boolean).join(':');
  reported['PATH'] = [scratch.bin, reported['PATH'] ?? '/usr/local/bin:/usr/bin:/bin'].join(':');
  return Object.fromEntries(
    Object.entries(reported).filter((pair): pair is [string, string] => pair[1] !== undefined),
  );
}

const upperCase = (name: string): string => name.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
