import { readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** An injectable clock: tests pass one that they control. */
export interface Clock {
  /** Wall-clock milliseconds since the epoch. */
  now(): number;
  /** Milliseconds on a clock that never runs backwards; only differences mean anything. */
  monotonic(): number;
  /**
   * Identifies the boot, with the milliseconds since: the same for all processes of the machine, whatever is done
   * to its wall clock. Undefined if unknown.
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
 * A clock that starts at the current time and then runs evenly: setting the wall clock does not change the time between
 * two readings.
 */
export function steadyClock(clock: Clock): Clock {
  const ahead = clock.now() - clock.monotonic();
  return { ...clock, now: () => Math.round(ahead + clock.monotonic()) };
}
