import { abortable } from '@updraft/base';

/**
 * Lets callers who want the same thing at the same time share one piece of work. A caller's signal ends only its own
 * wait; the work is stopped when no caller waits for it any more.
 */
export class SharedWork<T> {
  readonly #running = new Map<string, { result: Promise<T>; stop: AbortController; waiting: number }>();

  async run(
    key: string,
    signal: AbortSignal | undefined,
    work: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    signal?.throwIfAborted();
    const entry = this.#running.get(key) ?? this.#start(key, work);
    entry.waiting++;
    try {
      return await abortable(entry.result, signal);
    } finally {
      if (--entry.waiting === 0) {
        this.#forget(key, entry.stop);
        entry.stop.abort(signal?.reason);
      }
    }
  }

  #start(
    key: string,
    work: (signal: AbortSignal) => Promise<T>,
  ): { result: Promise<T>; stop: AbortController; waiting: number } {
    const stop = new AbortController();
    const entry = { result: work(stop.signal).finally(() => this.#forget(key, stop)), stop, waiting: 0 };
    entry.result.catch(() => undefined);
    this.#running.set(key, entry);
    return entry;
  }

  #forget(key: string, stop: AbortController): void {
    if (this.#running.get(key)?.stop === stop) this.#running.delete(key);
  }
}
