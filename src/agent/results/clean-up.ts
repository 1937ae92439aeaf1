import { killProcesses } from '../training/processes.ts';
import { removeTree } from '../../base/remove-tree.ts';
import type { World } from '../world.ts';

const rounds = 100;

/**
 * Ends every process the attempt has left behind and removes its scratch folder; tells how many bytes that freed.
 * Takes no heed of signals: an attempt that is asked to end is cleaned up all the same.
 */
export async function cleanUp(scratch: string, world: World): Promise<number> {
  // In rounds: a process may have made another one before it died, and dying takes a moment.
  for (let round = 0; round < rounds && !killProcesses(scratch, world); round++) await world.clock.sleep(20);
  return removeTree(scratch);
}
