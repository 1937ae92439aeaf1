import { watch, type FSWatcher } from 'node:fs';
import type { Clock } from './clock.ts';

/** A watch costs a kernel handle per file; beyond this many, polling is enough. */
const maxWatched = 32;

/**
 * Resolves when one of the files changes, and after `ms` at the latest: on a network file system, changes made by other
 * machines are not reported here. Rejects with the signal's reason when it aborts.
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
    // It does not exist yet, or there are no more watches: polling finds it.
    return [];
  }
}
