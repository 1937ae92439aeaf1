import { systemClock, type Clock } from '../../src/base/clock.ts';

/** A clock on which a second takes a tenth of one: waits stay in proportion to what real sockets do meanwhile. */
export const fastClock: Clock = {
  now: () => systemClock.now() * 10,
  monotonic: () => systemClock.monotonic() * 10,
  sleep: (ms, signal) => systemClock.sleep(ms / 10, signal),
};
