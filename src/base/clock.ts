import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** Time as a value that can be handed in: tests pass one they move by hand. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch. */
  now(): number;
  /** Milliseconds on a clock that never runs backwards; only differences mean anything. */
  monotonic(): number;
  /**
   * Which start of the machine this is, and the milliseconds since: the same for all its processes, whatever is done to its
   * wall clock. Undefined where nobody says.
   */
  boot?(): Boot | undefined;
  /** Resolves after `ms`; rejects with the signal's reason as soon as it aborts. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface Boot {
  id: string;
  up: number;
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  boot() {
    try {
      const id = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').slice(0, 8);
      return { id, up: Math.round(parseFloat(readFileSync('/proc/uptime', 'utf8')) * 1000) };
    } catch {
      return undefined;
    }
  },
  async sleep(ms, signal) {
    try {
      await delay(ms, undefined, signal === undefined ? {} : { signal });
    } catch (error) {
      signal?.throwIfAborted();
      throw error;
    }
  },
};

/**
 * A clock that begins at the time it is and then goes on evenly: one that is set right, or wrong, in between makes no
 * time between two looks at it longer or shorter.
 */
export function steadyClock(clock: Clock): Clock {
  const ahead = clock.now() - clock.monotonic();
  return { ...clock, now: () => Math.round(ahead + clock.monotonic()) };
}
