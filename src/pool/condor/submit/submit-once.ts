import { readFile } from 'node:fs/promises';
import path from 'node:path';
import type { EventOf } from '../../../eventlog/events.ts';
import { readEventLog } from '../../../eventlog/read-event-log.ts';
import { Fault } from '../../../fault/fault.ts';
import { runFiles } from '../../../job/layout.ts';
import { readJournal } from '../../../journal/tail.ts';
import { requestOnce, type SubmitRequest, type Submitter } from '../../request-once.ts';
import { batchName, condorFiles, condorRoundFiles } from '../condor-files.ts';
import type { CondorTools } from '../tools/condor-tools.ts';
import { adString } from './submit-text.ts';

/** How `condor_submit` is asked, and how to tell later what became of it. */
export interface CondorRequest extends Pick<
  SubmitRequest,
  'round' | 'command' | 'args' | 'cwd' | 'input' | 'file'
> {
  /** Whether an event of the run's log is of a job that this request made. */
  isOurs: (event: EventOf<'submit' | 'cluster-submit'>) => boolean;
  /** What is true of those jobs in the queue. */
  constraint: string;
}

/** Submits a round of a run exactly once. Gives the cluster's number. */
export async function submitOnce(
  runFolder: string,
  round: number,
  submitter: Submitter<CondorTools>,
): Promise<number> {
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  const run = entries.find((entry) => entry.kind === 'run-created')?.run ?? path.basename(runFolder);
  const batch = batchName(run, round);
  const file = path.join(runFolder, condorRoundFiles(round).submit);
  return await askCondorOnce(runFolder, submitter, {
    round,
    command: submitter.tools.command('condor_submit'),
    args: ['-terse', '-'],
    cwd: runFolder,
    // A description that breaks off has no `queue` and submits nothing.
    input: await readFile(file),
    isOurs: ({ details }) => details.batchName === batch,
    constraint: `JobBatchName == ${adString(batch)}`,
    file,
  });
}

/** Has `condor_submit` take jobs exactly once. Gives the cluster's number. */
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

/** The cluster that an earlier `condor_submit`, whose answer nobody heard, may have made. */
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
