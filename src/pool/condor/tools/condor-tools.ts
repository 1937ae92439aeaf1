import { type Env, findProgram, isThere } from '@updraft/base';
import path from 'node:path';
import { Fault } from '@updraft/account/fault';
import { SchedulerTools } from '../../scheduler-tools.ts';

/** HTCondor's commands on this machine. */
export class CondorTools extends SchedulerTools {
  private constructor(folder: string, env: Env) {
    super(folder, env, { queue: 'condor_q', machine: 'access point', isUnreachable });
  }

  /** Finds them on the PATH; throws a Fault with advice if there are none. */
  static async find(env: Env): Promise<CondorTools> {
    const submit = await findProgram(['condor_submit'], env);
    if (submit !== undefined) return new CondorTools(path.dirname(submit), env);
    throw new Fault(
      'pool-unreachable',
      'there is no HTCondor on this machine: condor_submit is not on the PATH',
      {
        fix: 'log in to an access point, or start a small pool here: updraft mini pool up',
        about: 'condor_submit',
      },
    );
  }

  /** Whether they belong to a mini pool on this machine. */
  isMini(): Promise<boolean> {
    return isThere(path.join(this.folder, '.inside'));
  }

  async version(): Promise<CondorVersion> {
    const text = await this.ask('condor_version', []);
    const version = parseCondorVersion(text);
    if (version !== undefined) return version;
    throw new Fault(
      'pool-unreachable',
      `cannot find the version in the output of condor_version: ${text.trim().slice(0, 200)}`,
      { fix: `run ${this.command('condor_version')} and read its output` },
    );
  }

  /** A setting of this machine's HTCondor; empty if not set. */
  async setting(name: string): Promise<string> {
    return (await this.ask('condor_config_val', [name]).catch(() => '')).trim();
  }
}

/** Whether a command's error means that it did not reach the schedd. */
const isUnreachable = (said: string): boolean =>
  /connect|contact|locate|find address|fetch ads|queue manager/i.test(said);

/** HTCondor's version, as in `25.14.1`. */
export type CondorVersion = `${number}.${number}.${number}`;

function parseCondorVersion(text: string): CondorVersion | undefined {
  return /\$CondorVersion:\s*(\d+\.\d+\.\d+)/.exec(text)?.[1] as CondorVersion | undefined;
}

export function isAtLeast(version: CondorVersion, wanted: CondorVersion): boolean {
  const [ours, theirs] = [version, wanted].map((one) => one.split('.').map(Number));
  for (const [index, part] of (ours ?? []).entries()) {
    const other = theirs?.[index] ?? 0;
    if (part !== other) return part > other;
  }
  return true;
}
