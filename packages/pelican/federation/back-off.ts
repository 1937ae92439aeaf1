import { type Clock, abortable } from '@updraft/base';

/** Called before each wait, with its end (milliseconds since the epoch) and the failure that caused it. */
export type OnWait = (until: number, failed: Error) => void;

/** The result of one try: an answer, or a failure and whether waiting can help. */
export type Try<T> =
  | { done: T }
  | {
      failed: Error;
      retry: boolean;
      afterMs?: number | undefined;
      timeoutMs: number;
    };

const initialBackoffMs = 1_000;
const maxBackoffMs = 30_000;

/**
 * Tries until done, until waiting cannot help, or until the failure's timeout has passed. Waits double from a second
 * to half a minute, with up to a quarter of jitter so that a thousand jobs do not return together, and are never
 * shorter than the server asked for.
 */
export async function withBackOff<T>(
  { clock, signal, onWait }: { clock: Clock; signal: AbortSignal | undefined; onWait?: OnWait | undefined },
  attempt: () => Promise<Try<T>>,
): Promise<T> {
  const start = clock.monotonic();
  for (let wait = initialBackoffMs; ; wait = Math.min(wait * 2, maxBackoffMs)) {
    const tried = await attempt();
    if ('done' in tried) return tried.done;
    const pause = Math.max(wait * (1 + Math.random() / 4), tried.afterMs ?? 0);
    const spent = clock.monotonic() - start;
    if (!tried.retry || spent + pause > tried.timeoutMs) throw tried.failed;
    onWait?.(clock.now() + pause, tried.failed);
    await clock.sleep(pause, signal);
  }
}

/** Reports the waits of shared work to all callers that wait for it. */
export class Listeners {
  readonly #all = new Set<{ key: string; onWait: OnWait }>();

  say(key: string): OnWait {
    return (until, failed) => {
      for (const each of this.#all) if (each.key === key) each.onWait(until, failed);
    };
  }

  /** Subscribes `onWait` to this key while `work` lasts. */
  async during<T>(key: string, onWait: OnWait | undefined, work: Promise<T>): Promise<T> {
    const each = { key, onWait: onWait ?? (() => undefined) };
    this.#all.add(each);
    try {
      return await work;
    } finally {
      this.#all.delete(each);
    }
  }
}

/** `Retry-After` in milliseconds: seconds or a date; undefined if absent or unreadable. */
export function retryAfterMs(header: string | undefined, now: number): number | undefined {
  if (header === undefined || header.trim() === '') return undefined;
  const seconds = Number(header);
  const ms = Number.isNaN(seconds) ? Date.parse(header) - now : seconds * 1000;
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

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
