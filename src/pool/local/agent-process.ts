import { spawn } from 'node:child_process';
import { open } from 'node:fs/promises';
import { once } from 'node:events';
import type { Env } from '@updraft/base';
import { appendHere } from '@updraft/base/disk';
import { Fault } from '@updraft/account/fault';

/** How a process ended: either a code or a signal. */
export interface Exit {
  code: number | null;
  signal: string | null;
}

export interface AgentProcess {
  pid: number;
  exited: Promise<Exit>;
}

export interface AgentStart {
  /** Executable and arguments. */
  command: string[];
  env: Env;
  /** File for the agent's own output. */
  log: string;
  cwd: string;
}

export type StartAgent = (start: AgentStart) => Promise<AgentProcess>;

/** Starts an agent in its own session, so that neither a closed terminal nor our exit affects it. */
export const startAgent: StartAgent = async ({ command, env, log, cwd }) => {
  const [executable = '', ...args] = command;
  await using file = await open(log, appendHere, 0o600);
  const child = spawn(executable, args, {
    detached: true,
    stdio: ['ignore', file.fd, file.fd],
    env: { ...env },
    cwd,
  });
  const exited = new Promise<Exit>((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  // A supervisor that exits must not wait for its agents.
  child.unref();
  await once(child, 'spawn').catch((error: unknown) => {
    throw new Fault('pool-unreachable', `the agent ${executable} cannot be started: ${String(error)}`, {
      fix: 'see what `updraft doctor` says about the agent, or set UPDRAFT_AGENT to an agent executable',
      about: executable,
      cause: error,
    });
  });
  return { pid: child.pid ?? 0, exited };
};
