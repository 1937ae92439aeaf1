import path from 'node:path';
import { isThere } from '@updraft/base';
import { runFiles, sandboxFiles } from '@updraft/account/run-folder';
import type { Entry } from '@updraft/account/journal';

/** Files of a run on HTCondor besides those of every run, by path in its folder. */
export const condorFiles = {
  submit: 'condor/job.sub',
  /** A line per job: its id, then a description for `condor_q`. */
  items: 'condor/jobs.items',
  /** The job's executable: unpacks the agent and becomes it. */
  launcher: 'condor/updraft-job',
  /** The same for the file-transfer plugin, in the run's folder itself: HTCondor looks for it under the given path. */
  plugin: 'updraft_plugin',
  /** How failures are handled; the submit file has it as HTCondor expressions. */
  policy: 'condor/policy.json',
  agent: 'condor/updraft-agent.gz',
  orders: 'condor/orders',
  /** Links to files of the access point, under names that need no quoting. */
  inputs: 'condor/inputs',
  /** CAs that the user trusts besides the built-in ones. */
  authority: 'condor/inputs/authority.pem',
  /** The training's secrets: a link to a file outside the run's folder. */
  secrets: `condor/inputs/${sandboxFiles.secrets}`,
  /** Output of the launcher and the agent themselves. */
  said: 'condor/said',
  eventLog: 'events.log',
  /** Held by the process that submits. */
  submitting: 'condor/submitting',
} as const;

/** What HTCondor gets for one round, by path in the run's folder; the first round has the usual places. */
export function condorRoundFiles(round: number): Record<'submit' | 'items' | 'orders', string> {
  if (round === 1)
    return { submit: condorFiles.submit, items: condorFiles.items, orders: condorFiles.orders };
  const folder = `${runFiles.rounds}/${round}`;
  return { submit: `${folder}/job.sub`, items: `${folder}/jobs.items`, orders: `${folder}/orders` };
}

/** The name `condor_q` shows for the jobs of one round. */
export const batchName = (run: string, round: number): string => (round === 1 ? run : `${run}#${round}`);

/** The round of the run with this batch name; undefined if the batch is not the run's. */
export function roundOfBatch(batch: string | undefined, run: string): number | undefined {
  if (batch === undefined || !batch.startsWith(run) || run === '') return undefined;
  const [, round] = /^#(\d+)$/.exec(batch.slice(run.length)) ?? [];
  return batch === run ? 1 : round === undefined ? undefined : Number(round);
}

/**
 * HTCondor's id (`CLUSTER.PROC`) of every submitted job, from the run's journal; of a resubmitted job all ids, the
 * latest last. Pure.
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

/** Whether Updraft 0.1 made a run on HTCondor from someone's own submit file: its jobs have no agent. */
export async function isAdopted(runFolder: string): Promise<boolean> {
  const has = (file: string): Promise<boolean> => isThere(path.join(runFolder, file));
  return (await has(condorFiles.submit)) && !(await has(condorFiles.items));
}
