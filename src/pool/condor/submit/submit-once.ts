import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { type EventOf, readEventLog } from '@updraft/htcondor/eventlog';
import { Fault } from '@updraft/account/fault';
import { readRunJournal } from '@updraft/account/journal';
import { requestOnce, type SubmitRequest, type Submitter } from '../../request-once.ts';
import { batchName, condorFiles, condorRoundFiles } from '../condor-files.ts';
import type { CondorTools } from '../tools/condor-tools.ts';
import { adString } from './submit-text.ts';

/** A `condor_submit` request, and how to find out later what it did. */
export interface CondorRequest extends Pick<
  SubmitRequest,
  'round' | 'command' | 'args' | 'cwd' | 'input' | 'file'
> {
  /** Whether an event of the run's log belongs to a job of this request. */
  isOurs: (event: EventOf<'submit' | 'cluster-submit'>) => boolean;
  /** A constraint that matches those jobs in the queue. */
  constraint: string;
}

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
  return await askCondorOnce(runFolder, submitter, {
    round,
    command: submitter.tools.command('condor_submit'),
    args: ['-terse', '-'],
    cwd: runFolder,
    // A truncated submit file has no `queue` and submits nothing.
    input: await readFile(file),
    isOurs: ({ details }) => details.batchName === batch,
    constraint: `JobBatchName == ${adString(batch)}`,
    file,
  });
}

/** Runs `condor_submit` so that the jobs are submitted exactly once; returns the cluster. */
export function askCondorOnce(
  runFolder: string,
  submitter: Submitter<CondorTools>,
  { isOurs, constraint, ...request }: CondorRequest,
): Promise<number> {
  return requestOnce(runFolder, submitter, {
    ...request,
    lease: condorFiles.submitting,
    name: 'condor_submit',
    find: () => findCluster(runFolder, submitter.tools, isOurs, constraint),
  });
}

/** The cluster of an earlier `condor_submit` whose answer was lost, if it made one. */
async function findCluster(
  runFolder: string,
  tools: CondorTools,
  isOurs: CondorRequest['isOurs'],
  constraint: string,
): Promise<number | undefined> {
  const log = path.join(runFolder, condorFiles.eventLog);
  try {
    for await (const event of readEventLog(log))
      if ((event.kind === 'submit' || event.kind === 'cluster-submit') && isOurs(event)) return event.cluster;
  } catch (error) {
    if (!(error instanceof Fault)) throw error; // no log yet
  }
  const cluster = Number.parseInt(
    await tools.ask('condor_q', ['-constraint', constraint, '-af', 'ClusterId']),
    10,
  );
  return Number.isNaN(cluster) ? undefined : cluster;
}
