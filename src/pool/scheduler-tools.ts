import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { defined, type Env } from '@updraft/base';
import { Fault } from '@updraft/account/fault';

const run = promisify(execFile);

/** A scheduler with a hundred thousand jobs answers within this time; otherwise it is down or overloaded. */
const timeoutSeconds = 60;

/** The same for `doctor`, whose page a silent host must not hold up. */
export const examineSeconds = '15';

/** What differs between schedulers' commands. */
export interface SchedulerInfo {
  /** The command that lists its queue. */
  queue: string;
  /** What its login machine is called. */
  machine: string;
  /** Whether a command's error means that it did not reach the scheduler. */
  isUnreachable: (said: string) => boolean;
}

/** A scheduler's commands on this machine. */
export class SchedulerTools {
  readonly folder: string;
  /** The environment in which they run. */
  readonly env: Env;
  /** How long to wait for the scheduler's answer: UPDRAFT_POOL_SECONDS, or a minute. */
  readonly timeoutMs: number;
  readonly info: SchedulerInfo;

  constructor(folder: string, env: Env, info: SchedulerInfo) {
    this.folder = folder;
    this.env = env;
    this.info = info;
    const seconds = Number(env['UPDRAFT_POOL_SECONDS']);
    this.timeoutMs = 1000 * (seconds > 0 ? seconds : timeoutSeconds);
  }

  command(name: string): string {
    return path.join(this.folder, name);
  }

  /** Runs a command and returns its standard output; throws a Fault with its error output if it fails or times out. */
  async ask(name: string, args: string[], cwd?: string): Promise<string> {
    return (await this.askBytes(name, args, { cwd })).toString();
  }

  /** The same, as bytes. */
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

  /** For a command that got no answer in time. */
  timeoutFault(name: string, fix = 'try again later'): Fault {
    const { machine, queue } = this.info;
    return new Fault('pool-unreachable', `${name} got no answer within ${this.timeoutMs / 1000} s`, {
      fix:
        `the scheduler is busy or down: ${fix}, or ask the administrators ` +
        `of the ${machine}; \`${queue}\` shows when it is back`,
      about: name,
    });
  }

  #fault(name: string, error: unknown): Fault {
    const { killed, stderr, message } = error as Error & { killed?: boolean; stderr?: Buffer };
    if (killed === true) return this.timeoutFault(name);
    const words = stderr?.toString().trim() ?? '';
    const said = words === '' ? message : words;
    const fix = this.info.isUnreachable(said)
      ? `the scheduler does not answer: try again later; \`${this.info.queue}\` shows when it is back`
      : `run ${name} and read its output`;
    return new Fault('pool-unreachable', `${name}: ${said}`, { fix, about: name, cause: error });
  }
}
