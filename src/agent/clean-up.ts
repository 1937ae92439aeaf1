import { chmodSync } from 'node:fs';
import { type Removed, removeTree } from '../base/remove-tree.ts';
import type { World } from './attempt.ts';
import type { Note } from './notes/notes.ts';
import { killProcesses } from './training/processes.ts';

const rounds = 100;

/** Ends every process that the attempt has left behind, asked to end or not. */
export async function endProcesses(scratch: string, world: World): Promise<void> {
  // In rounds: a process may have made another one before it died, and dying takes a moment.
  for (let round = 0; round < rounds && !killProcesses(scratch, world); round++) await world.clock.sleep(20);
}

/** How often the journal says how far the clean-up is. */
const tellEveryMs = 1000;

/**
 * Removes the scratch folder of an attempt that has handed over all it has: the journal and the checkpoint are complete,
 * so that whoever loses patience over a million files costs nobody anything. What the pool removes is left to it; only
 * where the journal found no room (`isWritten`) is some made for it. Throws what cannot be removed.
 */
export async function cleanUp(
  scratch: string,
  world: World,
  note: Note,
  isWritten: () => Promise<boolean>,
): Promise<void> {
  const { clock, poolCleans } = world;
  const isPools = poolCleans === 'always' || (poolCleans === 'when-asked' && world.signal.aborted);
  const enough = new AbortController();
  // Where nobody else cleans up, no signal keeps us from it.
  const signal = poolCleans === 'when-asked' && !isPools ? world.signal : enough.signal;
  let soFar: Removed = { files: 0, bytes: 0 };
  if (!isPools || !(await isWritten())) {
    note({ kind: 'phase', phase: 'cleaning' });
    let toldAt = clock.monotonic();
    const onProgress = (removed: Readonly<Removed>): void => {
      soFar = { ...removed };
      if (isPools) void isWritten().then((written) => written && enough.abort());
      if (clock.monotonic() - toldAt < tellEveryMs) return;
      toldAt = clock.monotonic();
      note({ kind: 'clean-progress', ...removed });
    };
    try {
      note({ kind: 'cleaned', ...(await removeTree(scratch, { signal, onProgress })) });
      return;
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }
  if (poolCleans === undefined) return;
  note({ kind: 'cleaned', ...soFar, by: 'pool' });
  // HTCondor's starter counts the files of the sandbox before it takes the checkpoint away, which its own grace may not
  // last for: it skips a folder that it cannot read, and makes it readable to remove it.
  if (poolCleans === 'always' && world.signal.aborted) chmodSync(scratch, 0);
}
