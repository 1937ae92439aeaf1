import path from 'node:path';
import type { Clock } from '../base/clock.ts';
import { withLease } from '../base/lease.ts';
import { identifyProcess } from '../base/process-identity.ts';
import { Fault } from '../fault/fault.ts';
import { runFiles } from '../job/layout.ts';
import { readJournal } from '../journal/tail.ts';
import type { RunState } from '../journal/state.ts';
import type { Pool } from '../pool/pool.ts';
import { readRunState } from './run-states.ts';

/** What starting rounds needs of the world. */
export interface RoundsWorld {
  clock: Clock;
  pid: number;
}

/**
 * Runs `action` with the run's state while nobody else starts a round of it. A round that somebody wrote into the
 * journal and could not hand over before dying is handed over first, so that no job is ever in two.
 */
export async function withRounds<T>(
  runFolder: string,
  pool: Pool,
  { clock, pid }: RoundsWorld,
  action: (state: RunState) => Promise<T>,
): Promise<T> {
  const self = identifyProcess(pid);
  if (self === undefined) throw new Fault('pool-unreachable', 'there is no /proc on this machine');
  return await withLease(path.join(runFolder, runFiles.rounds, 'starting'), self, clock, async () => {
    if (await isPending(runFolder)) await pool.submit(runFolder);
    return await action(await readRunState(runFolder));
  });
}

/** Whether a scheduler has taken earlier rounds, but not the latest. */
async function isPending(runFolder: string): Promise<boolean> {
  const { entries } = await readJournal(path.join(runFolder, runFiles.journal));
  const last = entries.findLast((entry) => entry.kind === 'round-started')?.round ?? 1;
  const taken = entries.filter((entry) => entry.kind === 'submitted').map(({ round = 1 }) => round);
  return taken.length > 0 && !taken.includes(last);
}
