import path from 'node:path';
import { livenessOf } from '../../base/process-identity.ts';
import { Fault } from '../../fault/fault.ts';
import { readClaim } from '../../job/claim.ts';
import { attemptFolder, runFiles } from '../../job/layout.ts';
import { fold } from '../../journal/fold.ts';
import { readJournal } from '../../journal/tail.ts';
import type { Kill } from '../pool.ts';

/** Tells a job's agent to leave the machine, as an owner who wants it back does: with SIGTERM. */
export async function evictAgent(runFolder: string, job: string, kill: Kill): Promise<void> {
  const { jobs } = fold((await readJournal(path.join(runFolder, runFiles.journal))).entries);
  const attempt = jobs.find(({ id }) => id === job)?.attempts.at(-1)?.attempt ?? 1;
  const claim = await readClaim(attemptFolder(runFolder, job, attempt));
  if (claim === undefined || 'void' in claim || livenessOf(claim) !== 'alive')
    throw new Fault('usage', `job ${job} has no attempt that could be evicted`, { about: job });
  kill(claim.pid, 'SIGTERM');
}
