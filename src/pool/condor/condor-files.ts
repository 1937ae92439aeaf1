import path from 'node:path';
import { isThere } from '../../base/error-reason.ts';
import { runFiles, sandboxFiles } from '../../job/layout.ts';
import type { Entry } from '../../journal/entry.ts';

/** Files that a run on HTCondor has beside those of every run, by their path in its folder. */
export const condorFiles = {
  submit: 'condor/job.sub',
  /** A line for each job: its id, then what it is, for `condor_q`. */
  items: 'condor/jobs.items',
  /** The job's executable: unpacks the agent and becomes it. */
  launcher: 'condor/updraft-job',
  /** The same for the file-transfer plugin. In the run's folder itself: HTCondor looks for plugins under the path it is told. */
  plugin: 'updraft_plugin',
  /** What is done about failures: the submit description has it as HTCondor's expressions. */
  policy: 'condor/policy.json',
  agent: 'condor/updraft-agent.gz',
  orders: 'condor/orders',
  /** Files of the access point under names that need no quoting. */
  inputs: 'condor/inputs',
  /** Authorities that the user trusts beside the built-in ones. */
  authority: 'condor/inputs/authority.pem',
  /** The training's secrets: a link to a file outside of the run's folder. */
  secrets: `condor/inputs/${sandboxFiles.secrets}`,
  /** What the launcher and the agent themselves printed. */
  said: 'condor/said',
  eventLog: 'events.log',
  /** Held by the process that submits. */
  submitting: 'condor/submitting',
} as const;

/** Beside its plan and journals, what has to be read of a run to know how it stands; as `find -path` takes it. */
export const accountFiles: readonly string[] = [
  condorFiles.submit,
  condorFiles.items,
  condorFiles.policy,
  condorFiles.eventLog,
  `${condorFiles.said}/*.err`,
];

/** What HTCondor is told of one round, by path in the run's folder: the first round's is where every run has it. */
export function condorRoundFiles(round: number): Record<'submit' | 'items' | 'orders', string> {
  if (round === 1)
    return { submit: condorFiles.submit, items: condorFiles.items, orders: condorFiles.orders };
  const folder = `${runFiles.rounds}/${round}`;
  return { submit: `${folder}/job.sub`, items: `${folder}/jobs.items`, orders: `${folder}/orders` };
}

/** How `condor_q` names the jobs of one round together. */
export const batchName = (run: string, round: number): string => (round === 1 ? run : `${run}#${round}`);

/** The round of the run that a batch is; undefined where it is none of the run's. */
export function roundOfBatch(batch: string | undefined, run: string): number | undefined {
  if (batch === undefined || !batch.startsWith(run) || run === '') return undefined;
  const [, round] = /^#(\d+)$/.exec(batch.slice(run.length)) ?? [];
  return batch === run ? 1 : round === undefined ? undefined : Number(round);
}

/**
 * HTCondor's name (`CLUSTER.PROC`) of every job that was submitted, by the run's journal; of a job that was
 * submitted again, each of its names, the latest last. Pure.
 */
export function jobIds(entries: readonly Entry[], jobs: readonly string[]): Map<string, string[]> {
  const rounds = new Map<number, readonly string[]>([[1, jobs]]);
  const names = new Map<string, string[]>();
  for (const entry of entries) {
    if (entry.kind === 'round-started') rounds.set(entry.round, entry.jobs);
    if (entry.kind !== 'submitted') continue;
    for (const [proc, job] of (rounds.get(entry.round ?? 1) ?? []).entries())
      names.set(job, [...(names.get(job) ?? []), `${entry.cluster}.${proc}`]);
  }
  return names;
}

/** Whether a run on HTCondor was made of somebody's own submit description: then no agent is in its jobs. */
export async function isAdopted(runFolder: string): Promise<boolean> {
  const has = (file: string): Promise<boolean> => isThere(path.join(runFolder, file));
  return (await has(condorFiles.submit)) && !(await has(condorFiles.items));
}
