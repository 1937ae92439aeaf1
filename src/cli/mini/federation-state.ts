import { Fault } from '../../fault/fault.ts';
import { findKept, type KeptState } from '../../mini/federation/kept-federation.ts';
import type { Cli } from '../cli.ts';
import { stateFolder } from './state-folder.ts';

/** The running federation of this state folder, or a fault that says how to start one. */
export async function runningFederation(cli: Cli, given: string | undefined): Promise<KeptState> {
  const folder = stateFolder(cli, 'mini-federation', given);
  const state = await findKept(folder);
  if (state !== undefined) return state;
  throw new Fault('servers-unreachable', `no mini federation is running (its state would be in ${folder})`, {
    fix: 'updraft mini federation up --publish /demo=FOLDER --detach',
  });
}
