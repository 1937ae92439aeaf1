import path from 'node:path';
import { leaseHolder } from '../base/lease.ts';
import { livenessOf } from '../base/process-identity.ts';
import { runFiles } from '../job/layout.ts';

/**
 * Whether somebody brings a run of the local pool to its end: `running`; `elsewhere`, on a machine we cannot look
 * into; `died` without finishing; or `none`, because it ended or was never started.
 */
export type SupervisorState =
  { state: 'running' | 'elsewhere' | 'died'; pid: number; host: string } | { state: 'none' };

export async function supervisorState(runFolder: string): Promise<SupervisorState> {
  const holder = await leaseHolder(path.join(runFolder, runFiles.supervisor));
  if (holder === undefined) return { state: 'none' };
  const { pid, host } = holder;
  const states = { alive: 'running', dead: 'died', elsewhere: 'elsewhere' } as const;
  return { state: states[livenessOf(holder)], pid, host };
}
