import type { Clock } from '../../base/clock.ts';

/** Longest silence that is made up for by sending faster: a reader's pause must not become a burst. */
const catchUpMs = 50;

/** Lets bytes pass at a steady rate, in pieces of about ten milliseconds. */
export class Pacer {
  readonly pieceSize: number;
  readonly #rate: number;
  readonly #clock: Clock;
  #nextAt: number;

  constructor(rate: number, clock: Clock) {
    this.#rate = rate;
    this.#clock = clock;
    this.#nextAt = clock.monotonic();
    this.pieceSize = Math.max(1, Math.min(256 * 1024, Math.ceil(rate / 100)));
  }

  /** Resolves when `bytes` more may be sent. */
  async pass(bytes: number, signal: AbortSignal): Promise<void> {
    const now = this.#clock.monotonic();
    const start = Math.max(this.#nextAt, now - catchUpMs);
    this.#nextAt = start + (bytes / this.#rate) * 1000;
    if (start > now) await this.#clock.sleep(start - now, signal);
  }
}
