import path from 'node:path';
import { runFiles } from '../../job/layout.ts';

/** Files of a run on Slurm besides those of every run, by path in its folder. */
export const slurmFiles = {
  /** What sbatch gets: the request for an array, and the script of its jobs. */
  script: 'slurm/job.sbatch',
  agent: 'slurm/updraft-agent.gz',
  /** How failures are handled; the agent decides by it. */
  policy: 'slurm/policy.json',
  orders: 'slurm/orders',
  /** Output of each job's script, and of Slurm. */
  said: 'slurm/said',
  /** By round: the number of the array, recorded by the first of its jobs that starts. */
  arrays: 'slurm/arrays',
  /** Held by the process that submits. */
  submitting: 'slurm/submitting',
} as const;

/** What sbatch gets for one round, by path in the run's folder; the first round has the usual places. */
export function slurmRoundFiles(round: number): Record<'script' | 'orders' | 'policy', string> {
  if (round === 1) return { script: slurmFiles.script, orders: slurmFiles.orders, policy: slurmFiles.policy };
  const folder = `${runFiles.rounds}/${round}`;
  return { script: `${folder}/job.sbatch`, orders: `${folder}/orders`, policy: `${folder}/policy.json` };
}

/** The name squeue shows for the jobs of one round. */
export const arrayName = (run: string, round: number): string => (round === 1 ? run : `${run}.r${round}`);

/** A job's own journal in its folder: its attempts, as recorded by the script and from the scheduler. */
export const taskJournalName = 'slurm.jsonl';

export const taskJournal = (runFolder: string, job: string): string =>
  path.join(runFolder, runFiles.jobs, job, taskJournalName);

/** Files besides the journals that are needed to follow a run on Slurm, as patterns for `find -path`. */
export const slurmAccount: readonly string[] = [
  slurmFiles.script,
  slurmFiles.policy,
  `${runFiles.jobs}/*/${taskJournalName}`,
];
