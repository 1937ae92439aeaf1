import type { Clock } from '@updraft/base';

/** A wait that ends early when something happens. */
export class WakeableSleep {
  readonly #clock: Clock;
  readonly #signal: AbortSignal;
  #woken = new AbortController();

  /** An abort of the signal also ends the wait. */
  constructor(clock: Clock, signal: AbortSignal) {
    this.#clock = clock;
    this.#signal = signal;
  }

  async sleep(ms: number): Promise<void> {
    const woken = (this.#woken = new AbortController());
    const wake = () => woken.abort();
    this.#signal.addEventListener('abort', wake, { once: true });
    try {
      await this.#clock.sleep(ms, woken.signal);
    } catch {
      // Woken early.
    } finally {
      this.#signal.removeEventListener('abort', wake);
    }
  }

  wake(): void {
    this.#woken.abort();
  }
}
