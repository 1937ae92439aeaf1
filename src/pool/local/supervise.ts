import path from 'node:path';
import { acquireLease } from '../../base/lease.ts';
import type { ProcessIdentity } from '../../base/process-identity.ts';
import { runFiles } from '../../job/layout.ts';
import { openJournal } from '../../journal/file.ts';
import { fold } from '../../journal/fold.ts';
import { readJournal } from '../../journal/tail.ts';
import { runEndedAt } from '../../journal/state.ts';
import type { AttemptWorld } from './attempt.ts';
import type { Machine } from './machine.ts';
import { Shares } from './shares.ts';
import { Supervisor } from './supervisor.ts';

export interface SuperviseOptions extends Omit<AttemptWorld, 'onExit'> {
  self: ProcessIdentity;
  machine: Machine;
  /** Folder in which all runs of the user account for what they use of the machine. */
  poolFolder: string;
  signal: AbortSignal;
}

/**
 * Supervises a run until it has ended, or until the signal aborts. `held` when another living process does so
 * already: there are never two.
 */
export async function supervise(options: SuperviseOptions): Promise<'ended' | 'left' | 'held'> {
  const { runFolder, self, machine, poolFolder, clock, signal } = options;
  const file = path.join(runFolder, runFiles.journal);
  for (;;) {
    const lease = await acquireLease(path.join(runFolder, runFiles.supervisor), self);
    if (lease === undefined) return 'held';
    await using journal = await openJournal(file, clock);
    const shares = new Shares(poolFolder, machine, self, clock);
    const outcome = await new Supervisor(options, journal, shares).work(signal);
    // Whoever leaves before the end keeps the lease, so that everybody sees that the run's supervisor died.
    if (outcome === 'left') return outcome;
    await lease.release();
    // A retry that was written after we last looked, by somebody who saw that we still had the lease, is ours.
    if (runEndedAt(fold((await readJournal(file)).entries).jobs) !== undefined) return outcome;
  }
}
