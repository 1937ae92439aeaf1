import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { defined } from '../base/defined.ts';
import type { Env } from '../base/env.ts';
import { Fault } from '../fault/fault.ts';

const run = promisify(execFile);

/** A scheduler with a hundred thousand jobs answers within this; one that does not is down or drowning. */
const timeoutSeconds = 60;

/** The same for `doctor`, which asks everybody at once: a host that is silent must not hold up its page. */
export const examineSeconds = '15';

/** What is particular to one scheduler's commands. */
export interface SchedulerInfo {
  /** The command that shows its queue. */
  queue: string;
  /** The machine on which its users work. */
  machine: string;
  /** Whether these words of a command mean that it did not reach the scheduler. */
  isUnreachable: (said: string) => boolean;
}

/** A scheduler's commands of this machine. */
export class SchedulerTools {
  readonly folder: string;
  /** In which they are started. */
  readonly env: Env;
  /** How long to wait for the scheduler's answer: UPDRAFT_POOL_SECONDS, or a minute. */
  readonly timeoutMs: number;
  readonly info: SchedulerInfo;

  constructor(folder: string, env: Env, words: SchedulerInfo) {
    this.folder = folder;
    this.env = env;
    this.info = words;
    const seconds = Number(env['UPDRAFT_POOL_SECONDS']);
    this.timeoutMs = 1000 * (seconds > 0 ? seconds : timeoutSeconds);
  }

  /** How to start one of them. */
  command(name: string): string {
    return path.join(this.folder, name);
  }

  /** The standard output of a command; a Fault with its own words when it fails or does not answer. */
  async ask(name: string, args: string[], cwd?: string): Promise<string> {
    return (await this.askBytes(name, args, { cwd })).toString();
  }

  /** The same, as the bytes that they are. */
  async askBytes(
    name: string,
    args: string[],
    { cwd, signal }: { cwd?: string | undefined; signal?: AbortSignal } = {},
  ): Promise<Buffer> {
    try {
      const { stdout } = await run(this.command(name), args, {
        env: { ...this.env },
        encoding: 'buffer',
        timeout: this.timeoutMs,
        killSignal: 'SIGKILL',
        maxBuffer: 1 << 28,
        ...defined({ cwd, signal }),
      });
      return stdout;
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#fault(name, error);
    }
  }

  /** For a scheduler that did not answer `name` in time. */
  timeoutFault(name: string, fix = 'try again in a while'): Fault {
    const { machine, queue } = this.info;
    return new Fault('pool-unreachable', `${name} had no answer within ${this.timeoutMs / 1000} s`, {
      fix: `the scheduler is busy or down: ${fix}, or ask the staff of the ${machine}; \`${queue}\` shows when it is back`,
      about: name,
    });
  }

  #fault(name: string, error: unknown): Fault {
    const { killed, stderr, message } = error as Error & { killed?: boolean; stderr?: Buffer };
    if (killed === true) return this.timeoutFault(name);
    const words = stderr?.toString().trim() ?? '';
    const said = words === '' ? message : words;
    const fix = this.info.isUnreachable(said)
      ? `the scheduler does not answer: try again in a while; \`${this.info.queue}\` shows when it is back`
      : `see what ${name} says`;
    return new Fault('pool-unreachable', `${name}: ${said}`, { fix, about: name, cause: error });
  }
}
