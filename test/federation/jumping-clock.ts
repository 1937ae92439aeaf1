import type { Clock } from '@updraft/base';

interface JumpingClock extends Clock {
  /** Every wait that was skipped, in milliseconds. */
  readonly slept: number[];
  advance(ms: number): void;
}

/** Timeouts of single requests: a test that does not ask for one never sees it expire. */
const requestLimits = [2_500, 10_000, 20_000, 30_000];

/**
 * A clock on which waiting costs nothing: a sleep advances the time and ends at once. Sleeps of the `held` lengths
 * never end by themselves, so that timeouts do not expire while a real server on loopback answers.
 */
export function jumpingClock(held: number[] = requestLimits): JumpingClock {
  let time = Date.UTC(2026, 0, 1);
  const slept: number[] = [];
  return {
    slept,
    now: () => time,
    monotonic: () => time,
    advance: (ms) => void (time += ms),
    async sleep(ms, signal) {
      signal?.throwIfAborted();
      if (held.includes(ms)) {
        await untilAborted(signal);
        return;
      }
      slept.push(ms);
      time += ms;
      await new Promise((resolve) => setImmediate(resolve));
    },
  };
}

async function untilAborted(signal: AbortSignal | undefined): Promise<void> {
  await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason as Error)));
}
