import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import type { Env } from '../../base/env.ts';
import { Fault } from '../../fault/fault.ts';
import { parseCondorVersion, type CondorVersion } from './condor-version.ts';

const run = promisify(execFile);

/** A schedd with a hundred thousand jobs answers within this; one that does not is down or drowning. */
const patienceMs = 60_000;

/** HTCondor's commands of this machine. */
export class CondorTools {
  readonly folder: string;
  /** In which they are started. */
  readonly env: Env;

  private constructor(folder: string, env: Env) {
    this.folder = folder;
    this.env = env;
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
    try {
      const { stdout } = await run(this.command(name), args, {
        env: { ...this.env },
        timeout: patienceMs,
        killSignal: 'SIGKILL',
        maxBuffer: 1 << 28,
        ...(cwd === undefined ? {} : { cwd }),
      });
      return stdout;
    } catch (error) {
      throw toolFault(name, error);
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
}

function toolFault(name: string, error: unknown): Fault {
  const { killed, stderr = '', message } = error as Error & { killed?: boolean; stderr?: string };
  const said = stderr.trim() === '' ? message : stderr.trim();
  if (killed === true)
    return new Fault('pool-unreachable', `${name} did not answer within ${patienceMs / 1000} s`, {
      fix: 'the scheduler is busy or down: try again in a while, or ask the staff of the access point',
      about: name,
      cause: error,
    });
  return new Fault('pool-unreachable', `${name}: ${said}`, {
    fix: /connect|contact|locate/i.test(said)
      ? 'the scheduler does not answer: try again in a while; `condor_q` shows when it is back'
      : `see what ${name} says`,
    about: name,
    cause: error,
  });
}
