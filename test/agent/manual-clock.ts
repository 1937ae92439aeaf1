import type { Clock } from '@updraft/base';

/** A clock that stands still until a test moves it. */
export class ManualClock implements Clock {
  #time = 0;
  #sleepers: { until: number; wake: () => void }[] = [];

  now(): number {
    return this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((wake, reject) => {
      const sleeper = { until: this.#time + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  }

  /** Moves the time and wakes everyone whose time has come. */
  async pass(ms: number): Promise<void> {
    const end = this.#time + ms;
    for (;;) {
      const next = this.#sleepers.filter(({ until }) => until <= end).sort((a, b) => a.until - b.until)[0];
      if (next === undefined) break;
      this.#time = Math.max(this.#time, next.until);
      this.#sleepers = this.#sleepers.filter((sleeper) => sleeper !== next);
      next.wake();
      await new Promise((resolve) => setImmediate(resolve));
    }
    this.#time = end;
  }
}
