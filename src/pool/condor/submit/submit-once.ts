import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { readEventLog } from '@updraft/htcondor/eventlog';
import { Fault } from '@updraft/account/fault';
import { readRunJournal } from '@updraft/account/journal';
import { requestOnce, type Submitter } from '../../request-once.ts';
import { batchName, condorFiles, condorRoundFiles } from '../condor-files.ts';
import type { CondorTools } from '../tools/condor-tools.ts';
import { adString } from './submit-text.ts';

/** Submits a round of a run exactly once; returns the cluster. */
export async function submitOnce(
  runFolder: string,
  round: number,
  submitter: Submitter<CondorTools>,
): Promise<number> {
  const entries = await readRunJournal(runFolder);
  const run = entries.find((entry) => entry.kind === 'run-created')?.run ?? path.basename(runFolder);
  const batch = batchName(run, round);
  const file = path.join(runFolder, condorRoundFiles(round).submit);
  return await requestOnce(runFolder, submitter, {
    round,
    lease: condorFiles.submitting,
    name: 'condor_submit',
    command: submitter.tools.command('condor_submit'),
    args: ['-terse', '-'],
    cwd: runFolder,
    // A truncated submit file has no `queue` and submits nothing.
    input: await readFile(file),
    file,
    find: () => findCluster(runFolder, submitter.tools, batch),
  });
}

/** The cluster of an earlier `condor_submit` whose answer was lost, if it made one. */
async function findCluster(
  runFolder: string,
  tools: CondorTools,
  batch: string,
): Promise<number | undefined> {
  const log = path.join(runFolder, condorFiles.eventLog);
  try {
    for await (const event of readEventLog(log))
      if ((event.kind === 'submit' || event.kind === 'cluster-submit') && event.details.batchName === batch)
        return event.cluster;
  } catch (error) {
    if (!(error instanceof Fault)) throw error; // no log yet
  }
  const cluster = Number.parseInt(
    await tools.ask('condor_q', ['-constraint', `JobBatchName == ${adString(batch)}`, '-af', 'ClusterId']),
    10,
  );
  return Number.isNaN(cluster) ? undefined : cluster;
}
