import { watch, type FSWatcher } from 'node:fs';
import type { Clock } from './clock.ts';

/** Watching costs the kernel a handle per file; beyond this many, the slow look does. */
const maxWatched = 32;

/**
 * Resolves when one of the files changes, and at the latest after `ms`: a change made on another machine of a
 * network file system is not told to this one. Rejects with the signal's reason when it aborts.
 */
export async function waitForChange(
  paths: readonly string[],
  ms: number,
  clock: Clock,
  signal?: AbortSignal,
): Promise<void> {
  const changed = new AbortController();
  const wake = () => changed.abort();
  const watchers = paths.slice(0, maxWatched).flatMap((path) => watchFile(path, wake));
  try {
    await clock.sleep(ms, signal === undefined ? changed.signal : AbortSignal.any([signal, changed.signal]));
  } catch (error) {
    signal?.throwIfAborted();
    if (!changed.signal.aborted) throw error;
  } finally {
    for (const watcher of watchers) watcher.close();
  }
}

function watchFile(path: string, wake: () => void): FSWatcher[] {
  try {
    return [watch(path, { persistent: false }, wake).on('error', wake)];
  } catch {
    // Not there yet, or no more watches to be had: the slow look finds it.
    return [];
  }
}
