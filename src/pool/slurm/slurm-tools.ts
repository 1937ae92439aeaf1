import path from 'node:path';
import { type Env, findProgram } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import { SchedulerTools } from '../scheduler-tools.ts';

export class SlurmTools extends SchedulerTools {
  private constructor(folder: string, env: Env) {
    super(folder, env, { queue: 'squeue', machine: 'cluster', isUnreachable });
  }

  /** Finds them on the PATH; throws a Fault with advice if there are none. */
  static async find(env: Env): Promise<SlurmTools> {
    const sbatch = await findProgram(['sbatch'], env);
    if (sbatch !== undefined) return new SlurmTools(path.dirname(sbatch), env);
    throw new Fault('pool-unreachable', 'there is no Slurm on this machine: sbatch is not on the PATH', {
      fix: 'log in to a login node of the cluster (`module load slurm` may help), or choose another pool in [run]',
      about: 'sbatch',
    });
  }

  /** Such as `26.05.5`. */
  async version(): Promise<string> {
    const text = await this.ask('sbatch', ['--version']);
    return /\d+(\.\d+)+/.exec(text)?.[0] ?? text.trim();
  }

  /** A number in the cluster's configuration; undefined if it is not set. */
  async setting(name: string): Promise<number | undefined> {
    const text = await this.ask('scontrol', ['show', 'config']);
    const value = new RegExp(String.raw`^${name}\s*=\s*(\d+)\s*$`, 'im').exec(text)?.[1];
    return value === undefined ? undefined : Number(value);
  }
}

const isUnreachable = (said: string): boolean =>
  /unable to contact|connection refused|connect failure|timed out|unable to establish|zero bytes/i.test(said);
