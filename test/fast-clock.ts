import { stat } from 'node:fs';
import type { Clock } from '@updraft/base';

const tickMs = 4;

interface Sleeper {
  until: number;
  wake: () => void;
}

/**
 * A clock that runs this many times faster than wall time, and counts what this process gets done instead: while a busy
 * machine does not schedule it, no time passes. Each tick follows a turn of the event loop, and an answer of the threads
 * that read and write files, whose work waits in one queue. Servers and client share the process, so a timeout fires
 * only if they really have nothing to send.
 */
export const fastClock = (speed: number): Clock => new FastClock(speed);

class FastClock implements Clock {
  readonly #speed: number;
  readonly #epoch = Date.UTC(2026, 0, 1);
  #time = 0;
  #sleepers: Sleeper[] = [];
  #isTicking = false;

  constructor(speed: number) {
    this.#speed = speed;
  }

  now(): number {
    return this.#epoch + this.#time;
  }

  monotonic(): number {
    return this.#time;
  }

  async sleep(ms: number, signal?: AbortSignal): Promise<void> {
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const sleeper = { until: this.#time + ms, wake: () => resolve() };
      const abort = (): void => {
        this.#sleepers = this.#sleepers.filter((each) => each !== sleeper);
        reject(signal?.reason as Error);
      };
      sleeper.wake = () => {
        signal?.removeEventListener('abort', abort);
        resolve();
      };
      signal?.addEventListener('abort', abort, { once: true });
      this.#sleepers.push(sleeper);
      this.#tick();
    });
  }

  #tick(): void {
    if (this.#isTicking || this.#sleepers.length === 0) return;
    this.#isTicking = true;
    setTimeout(() => stat('/', () => setImmediate(() => this.#advance())), tickMs);
  }

  #advance(): void {
    this.#isTicking = false;
    this.#time += tickMs * this.#speed;
    const due = this.#sleepers.filter(({ until }) => until <= this.#time);
    this.#sleepers = this.#sleepers.filter(({ until }) => until > this.#time);
    for (const { wake } of due) wake();
    this.#tick();
  }
}
