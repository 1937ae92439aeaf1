import { spawn } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import path from 'node:path';
import { Fault } from '../../fault/fault.ts';
import { attemptFiles } from '../../job/layout.ts';
import type { Attempt } from '../attempt.ts';
import { attemptProcesses, killProcesses } from './processes.ts';
import { trainingEnv } from './training-env.ts';
import type { World } from '../world.ts';

/** How a command ended: by its status, or by a signal. */
export interface Ended {
  status: number | null;
  signal?: NodeJS.Signals;
}

export interface Shell {
  /** Also the id of its process group and session. */
  pid: number;
  /** Resolves when the command has ended and nothing of its session is left. */
  ended: Promise<Ended>;
  /** What belongs to it may end by itself, until this aborts, though the shell itself is gone. */
  lenient: { until?: AbortSignal };
}

const lookEveryMs = 50;

/**
 * Starts a command in the work folder, in a session of its own. The kernel appends its output to the attempt's
 * logs, so that neither a slow nor a dead agent can block it.
 */
export async function startShell(command: string, { order, scratch, world }: Attempt): Promise<Shell> {
  const log = (name: string): number => openSync(path.join(order.attemptFolder, name), 'a', 0o644);
  // An empty file as input, and not /dev/null: the smallest of containers have no /dev.
  const files = [
    openSync(path.join(scratch.root, 'no-input'), 'a+', 0o600),
    log(attemptFiles.out),
    log(attemptFiles.err),
  ];
  try {
    const child = spawn('/bin/sh', ['-c', command], {
      cwd: scratch.work,
      env: trainingEnv(order, scratch, world.env),
      detached: true,
      stdio: files,
    });
    return await new Promise<Shell>((resolve, reject) => {
      child.once('error', (error) => reject(notStarted(error)));
      const lenient: Shell['lenient'] = {};
      const ended = new Promise<Ended>((end) => {
        child.once('exit', (status, signal) => {
          void leave(lenient, scratch.root, child.pid ?? 0, world).then(() => {
            killProcesses(scratch.root, world, child.pid);
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

/** A shell that was asked to end is gone at once, and with it would be the program in it that still saves. */
async function leave(
  { until }: Shell['lenient'],
  root: string,
  session: number,
  { clock }: World,
): Promise<void> {
  while (until?.aborted === false && attemptProcesses(root, session).length > 0)
    await clock.sleep(lookEveryMs, until).catch(() => undefined);
}

/** Asks the whole group to save and end, and waits, until it has, or time is up, or the attempt must end. */
export async function askShell(
  shell: Shell,
  { signal, clock, kill }: World,
  patienceMs: number,
): Promise<void> {
  const [over, late] = [new AbortController(), new AbortController()];
  void shell.ended.then(() => over.abort());
  shell.lenient.until = late.signal;
  kill(-shell.pid, 'SIGTERM');
  await clock.sleep(patienceMs, AbortSignal.any([signal, over.signal])).catch(() => undefined);
  // An attempt that must end meanwhile gives it the usual grace.
  if (!signal.aborted) late.abort();
}

/** Asks the whole group to end, and ends it by force when the grace has passed. */
export async function stopShell(shell: Shell, { hurry, clock, kill, graceMs }: World): Promise<Ended> {
  const [over, late] = [new AbortController(), new AbortController()];
  void shell.ended.then(() => over.abort());
  shell.lenient.until = late.signal;
  kill(-shell.pid, 'SIGTERM');
  await clock.sleep(graceMs(), AbortSignal.any([hurry, over.signal])).catch(() => undefined);
  late.abort();
  if (!over.signal.aborted) kill(-shell.pid, 'SIGKILL');
  return await shell.ended;
}

function notStarted(error: NodeJS.ErrnoException): Fault {
  return new Fault('command-missing', `/bin/sh cannot be started: ${error.message}`, {
    fix: 'the machine needs a POSIX shell as /bin/sh',
    about: '/bin/sh',
    cause: error,
  });
}
