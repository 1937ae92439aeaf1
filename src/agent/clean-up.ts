import { chmodSync } from 'node:fs';
import { type Removed, removeTree } from '@updraft/base/disk';
import type { Context } from './attempt.ts';
import type { Recorder } from './notes/journal-writer.ts';
import { killProcesses } from './training/processes.ts';

const maxRounds = 100;

/** Ends every process that the attempt left behind. */
export async function endProcesses(scratch: string, context: Context): Promise<void> {
  // In rounds: a process may have forked before it died, and dying takes a moment.
  for (let round = 0; round < maxRounds && !killProcesses(scratch, context); round++)
    await context.clock.sleep(20);
}

/** Whether the pool removes the attempt's files. */
export const isLeftToPool = ({ poolCleans, signal }: Context): boolean =>
  poolCleans === 'always' || (poolCleans === 'when-asked' && signal.aborted);

/** How often the journal records the progress of the clean-up. */
const reportMs = 1000;

/**
 * Removes the scratch folder of an attempt that has returned everything: the journal and the checkpoint are complete,
 * and being killed over a million files loses nothing. What the pool removes is left to it, unless the journal found
 * no room (`flush`): then some is made for it. Throws if something cannot be removed.
 */
export async function cleanUp(
  scratch: string,
  context: Context,
  record: Recorder,
  flush: () => Promise<boolean>,
): Promise<void> {
  const { clock, poolCleans } = context;
  const leftToPool = isLeftToPool(context);
  const stopEarly = new AbortController();
  // Where the pool does not clean up, no signal interrupts it here.
  const signal = poolCleans === 'when-asked' && !leftToPool ? context.signal : stopEarly.signal;
  let soFar: Removed = { files: 0, bytes: 0 };
  if (!leftToPool || !(await flush())) {
    record({ kind: 'phase', phase: 'cleaning' });
    let reportedAt = clock.monotonic();
    const onProgress = (removed: Readonly<Removed>): void => {
      soFar = { ...removed };
      if (leftToPool) void flush().then((written) => written && stopEarly.abort());
      if (clock.monotonic() - reportedAt < reportMs) return;
      reportedAt = clock.monotonic();
      record({ kind: 'clean-progress', ...removed });
    };
    try {
      record({ kind: 'cleaned', ...(await removeTree(scratch, { signal, onProgress })) });
      return;
    } catch (thrown) {
      if (!signal.aborted) throw thrown;
    }
  }
  if (poolCleans === undefined) return;
  record({ kind: 'cleaned', ...soFar, by: 'pool' });
  // HTCondor's starter counts the files of the sandbox before it takes the checkpoint, which can exceed its own grace
  // time: it skips a folder that it cannot read, and makes it readable to remove it.
  if (poolCleans === 'always' && context.signal.aborted) chmodSync(scratch, 0);
}
