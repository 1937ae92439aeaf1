import { readdir, readlink } from 'node:fs/promises';
import path from 'node:path';
import { isThere } from '@updraft/base';
import { scanEventLog } from '@updraft/htcondor/eventlog';
import type { JobHistory } from '../../../history/history.ts';
import { LogFold } from '../../../history/log-fold.ts';
import type { RunAccount } from '../../pool.ts';
import { condorFiles } from '../condor-files.ts';
import { policyOfJob, writtenPolicy } from '../submit/condor-policy.ts';
import { RunClusters } from './run-clusters.ts';

/** What HTCondor's files in a run's folder say about its jobs. */
export async function condorAccount(runFolder: string): Promise<RunAccount> {
  // An adopted submit file has its own rules.
  const policy = await writtenPolicy(runFolder);
  return {
    rulesOf: (job) => policy && { policy: policyOfJob(policy, job), file: condorFiles.submit },
    histories: await readHistories(runFolder, policy !== undefined),
    withUserNames: await readInputNames(runFolder),
  };
}

/** The jobs' histories from HTCondor's log, by job id; of a resubmitted job the latest. */
async function readHistories(runFolder: string, ours: boolean): Promise<Map<string, JobHistory>> {
  const fold = new LogFold({ evidence: condorFiles.eventLog, ours });
  const clusters = new RunClusters(runFolder);
  await clusters.refresh();
  const log = path.join(runFolder, condorFiles.eventLog);
  // Before the submission there is no log.
  if (await isThere(log))
    await scanEventLog(log, (event) => {
      if (clusters.has(event) === true) fold.add(event);
    });
  const jobOf = (id: string): string => {
    const [cluster, proc] = id.split('.');
    return clusters.jobOf(Number(cluster), Number(proc)).job;
  };
  const latest = new Map<string, JobHistory>();
  const counted = new Map<string, number>();
  for (const history of fold.finish()) {
    const job = jobOf(history.id);
    // Attempts are numbered on, as in the run's journal; those with an agent have its number.
    let number = counted.get(job) ?? 0;
    for (const attempt of history.attempts) attempt.number = number = Math.max(attempt.number, number + 1);
    counted.set(job, number);
    latest.set(job, history);
  }
  return latest;
}

/**
 * HTCondor gets files as links in the run's folder and names those; people know the files by their own names. Returns
 * a function that replaces the one by the other in a message.
 */
async function readInputNames(runFolder: string): Promise<(said: string) => string> {
  const inputs = path.join(runFolder, condorFiles.inputs);
  const names = await readdir(inputs).catch(() => []);
  const links = await Promise.all(
    names.map(async (name) => {
      const file = await readlink(path.join(inputs, name)).catch(() => undefined);
      return file === undefined ? [] : [[name, file] as const];
    }),
  );
  // Longest first: one name may be a prefix of another.
  const known = links.flat().sort(([one], [other]) => other.length - one.length);
  return (said) =>
    known.reduce((text, [name, file]) => {
      const spellings = [path.join(inputs, name), `${condorFiles.inputs}/${name}`];
      return spellings.reduce((words, spelling) => words.replaceAll(spelling, () => file), text);
    }, said);
}
