import type { Clock } from '../../base/clock.ts';

/** A value that is costly to get: asked anew only as often as that takes at most a share of the time. */
export class Rationed<T> {
  readonly #get: () => T;
  readonly #share: number;
  readonly #clock: Clock;
  #last: { value: T; until: number } | undefined;

  constructor(get: () => T, share: number, clock: Clock) {
    this.#get = get;
    this.#share = share;
    this.#clock = clock;
  }

  /** The value as it is now, or as it was when it was last paid for. */
  ask(): T {
    const began = this.#clock.monotonic();
    if (this.#last !== undefined && began < this.#last.until) return this.#last.value;
    const value = this.#get();
    const ended = this.#clock.monotonic();
    this.#last = { value, until: ended + (ended - began) / this.#share };
    return value;
  }
}
