import os from 'node:os';
import path from 'node:path';
import { Fault } from '../../fault/fault.ts';
import { findKept, type KeptState } from '../../mini/federation/kept-federation.ts';
import type { Cli } from '../cli.ts';

/** Where a federation keeps what other commands need to find it. */
export function stateFolder(cli: Cli, given: string | undefined): string {
  if (given !== undefined) return path.resolve(cli.cwd, given);
  const state = cli.env['XDG_STATE_HOME'] ?? '';
  const base = path.isAbsolute(state) ? state : path.join(cli.env['HOME'] ?? os.homedir(), '.local', 'state');
  return path.join(base, 'updraft', 'mini-federation');
}

/** The running federation of this state folder, or a fault that says how to start one. */
export async function runningFederation(cli: Cli, given: string | undefined): Promise<KeptState> {
  const folder = stateFolder(cli, given);
  const state = await findKept(folder);
  if (state !== undefined) return state;
  throw new Fault('servers-unreachable', `no mini federation is running (its state would be in ${folder})`, {
    fix: 'updraft mini federation up --publish /demo=FOLDER --detach',
  });
}
