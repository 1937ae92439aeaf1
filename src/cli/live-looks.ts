import type { Clock } from '../base/clock.ts';
import { asFault } from '../fault/fault.ts';
import type { LivePage } from '../job/live-page.ts';

/** Each look passes through the scheduler: as often as news come, but not more, and rarely where there are none. */
const firstWaitMs = 2_000;
const mostWaitMs = 30_000;
/** An attempt that begins or ends may refuse a look or two. */
const patientLooks = 3;

/** Looks at what a running attempt prints on its machine, at a pace that its pool bears. */
export class LiveLooks {
  readonly #clock: Clock;
  readonly #ask: () => Promise<LivePage | undefined>;
  #nextAt = -Infinity;
  #waitMs = firstWaitMs;
  #failed = 0;

  constructor(clock: Clock, ask: () => Promise<LivePage | undefined>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  /** Gives a page, when it is time for one, to `show`, which tells whether it was new; a lasting trouble to `complain`, once. */
  async look(show: (page: LivePage) => boolean, complain: (message: string) => void): Promise<void> {
    if (this.#clock.monotonic() < this.#nextAt) return;
    let isNew = false;
    try {
      const page = await this.#ask();
      this.#failed = 0;
      isNew = page !== undefined && show(page);
    } catch (error) {
      this.#failed += 1;
      if (this.#failed === patientLooks) complain(asFault(error).message);
    }
    this.#waitMs = isNew ? firstWaitMs : Math.min(2 * this.#waitMs, mostWaitMs);
    this.#nextAt = this.#clock.monotonic() + this.#waitMs;
  }
}
