import path from 'node:path';
import { runFiles } from '@updraft/account/run-folder';

/** Files of a run on Slurm besides those of every run, by path in its folder. */
export const slurmFiles = {
  /** Output of each job's script, and of Slurm. */
  said: 'slurm/said',
  /** By round: the number of the array, recorded by the first of its jobs that starts. */
  arrays: 'slurm/arrays',
  /** CAs that the user trusts besides the built-in ones: their own file may be where nodes do not see it. */
  authority: 'slurm/authority.pem',
  /** Held by the process that submits. */
  submitting: 'slurm/submitting',
} as const;

/**
 * What one round is submitted with, by path in the run's folder: the script of its array, the orders, the policy
 * the agent decides by, and the packed agent, of the version that wrote them.
 */
export function slurmRoundFiles(round: number): Record<'script' | 'orders' | 'policy' | 'agent', string> {
  const folder = round === 1 ? 'slurm' : `${runFiles.rounds}/${round}`;
  return {
    script: `${folder}/job.sbatch`,
    orders: `${folder}/orders`,
    policy: `${folder}/policy.json`,
    agent: `${folder}/updraft-agent.gz`,
  };
}

/** The name squeue shows for the jobs of one round. */
export const arrayName = (run: string, round: number): string => (round === 1 ? run : `${run}.r${round}`);

/** A job's own journal in its folder: its attempts, as recorded by the script and from the scheduler. */
export const taskJournalName = 'slurm.jsonl';

export const taskJournal = (runFolder: string, job: string): string =>
  path.join(runFolder, runFiles.jobs, job, taskJournalName);
