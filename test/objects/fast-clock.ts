import { systemClock, type Clock } from '../../src/base/clock.ts';

/** A clock that runs so many times faster than the wall's: long patience ends soon, in the same order. */
export function fastClock(factor: number): Clock {
  const start = systemClock.monotonic();
  const elapsed = (): number => (systemClock.monotonic() - start) * factor;
  const now = systemClock.now();
  return {
    now: () => now + elapsed(),
    monotonic: elapsed,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
  };
}
