import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Env } from '../../base/env.ts';
import { Fault } from '../../fault/fault.ts';
import { parseCondorVersion, type CondorVersion } from './condor-version.ts';

const run = promisify(execFile);

/** A schedd with a hundred thousand jobs answers within this; one that does not is down or drowning. */
const patienceSeconds = 60;

/** HTCondor's commands of this machine. */
export class CondorTools {
  readonly folder: string;
  /** In which they are started. */
  readonly env: Env;
  /** How long to wait for the scheduler's answer: UPDRAFT_POOL_SECONDS, or a minute. */
  readonly patienceMs: number;

  private constructor(folder: string, env: Env) {
    this.folder = folder;
    this.env = env;
    const seconds = Number(env['UPDRAFT_POOL_SECONDS']);
    this.patienceMs = 1000 * (seconds > 0 ? seconds : patienceSeconds);
  }

  /** Finds them on the PATH, or says what to do. */
  static async find(env: Env): Promise<CondorTools> {
    for (const folder of (env['PATH'] ?? '').split(':')) {
      const isThere = await access(path.join(folder, 'condor_submit'), constants.X_OK).then(
        () => folder !== '',
        () => false,
      );
      if (isThere) return new CondorTools(folder, env);
    }
    throw new Fault(
      'pool-unreachable',
      'there is no HTCondor on this machine: condor_submit is not on the PATH',
      {
        fix: 'log in to an access point, or start a small pool here: updraft mini pool up',
        about: 'condor_submit',
      },
    );
  }

  /** Whether they belong to a mini pool of this machine. */
  isMini(): Promise<boolean> {
    return access(path.join(this.folder, '.inside')).then(
      () => true,
      () => false,
    );
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
        timeout: this.patienceMs,
        killSignal: 'SIGKILL',
        maxBuffer: 1 << 28,
        ...(cwd === undefined ? {} : { cwd }),
        ...(signal === undefined ? {} : { signal }),
      });
      return stdout;
    } catch (error) {
      signal?.throwIfAborted();
      throw this.#fault(name, error);
    }
  }

  async version(): Promise<CondorVersion> {
    const text = await this.ask('condor_version', []);
    const version = parseCondorVersion(text);
    if (version !== undefined) return version;
    throw new Fault('pool-unreachable', `condor_version says no version: ${text.trim().slice(0, 200)}`, {
      fix: `see what ${this.command('condor_version')} prints`,
    });
  }

  /** A setting of this machine's HTCondor; empty when it is not set. */
  setting(name: string): Promise<string> {
    return this.ask('condor_config_val', [name]).then(
      (text) => text.trim(),
      () => '',
    );
  }

  /** For a scheduler that did not answer `name` in time. */
  silence(name: string, fix = 'try again in a while'): Fault {
    return new Fault('pool-unreachable', `${name} had no answer within ${this.patienceMs / 1000} s`, {
      fix: `the scheduler is busy or down: ${fix}, or ask the staff of the access point; \`condor_q\` shows when it is back`,
      about: name,
    });
  }

  #fault(name: string, error: unknown): Fault {
    const { killed, stderr, message } = error as Error & { killed?: boolean; stderr?: Buffer };
    if (killed === true) return this.silence(name);
    const words = stderr?.toString().trim() ?? '';
    const said = words === '' ? message : words;
    const fix = isUnreachable(said)
      ? 'the scheduler does not answer: try again in a while; `condor_q` shows when it is back'
      : `see what ${name} says`;
    return new Fault('pool-unreachable', `${name}: ${said}`, { fix, about: name, cause: error });
  }
}

/** Whether these words of a command mean that it did not reach the scheduler. */
export const isUnreachable = (said: string): boolean =>
  /connect|contact|locate|find address|fetch ads|queue manager/i.test(said);
