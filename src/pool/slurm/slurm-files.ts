import path from 'node:path';
import { runFiles } from '../../job/layout.ts';

/** Files that a run on Slurm has beside those of every run, by their path in its folder. */
export const slurmFiles = {
  /** What the script of each job, and Slurm, printed. */
  said: 'slurm/said',
  /** By round: the number of the array, told by the first of its jobs that started. */
  arrays: 'slurm/arrays',
  /** Held by the process that submits. */
  submitting: 'slurm/submitting',
} as const;

/**
 * What one round is submitted with, by path in the run's folder: an array of jobs and the script that each of them runs,
 * their orders, the policy by which the agent decides, and the agent, of the version that wrote all this.
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

/** The name under which squeue shows the jobs of one round. */
export const arrayName = (run: string, round: number): string => (round === 1 ? run : `${run}.r${round}`);

/** The name of a job's own journal in its folder: what became of its attempts, by the script and by the scheduler. */
export const taskJournalName = 'slurm.jsonl';

export const taskJournal = (runFolder: string, job: string): string =>
  path.join(runFolder, runFiles.jobs, job, taskJournalName);

/** What tells of a run on Slurm beside its journals, for whoever follows it from elsewhere, as `find -path` takes them. */
export const slurmAccount: readonly string[] = [
  slurmRoundFiles(1).script,
  slurmRoundFiles(1).policy,
  `${runFiles.jobs}/*/${taskJournalName}`,
];
