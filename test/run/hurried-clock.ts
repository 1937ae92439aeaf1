import { type Clock, systemClock } from '@updraft/base';

/** A clock on which every wait is minimal: time jumps to its end. */
export function hurriedClock(): Clock {
  let ahead = 0;
  return {
    now: () => systemClock.now() + ahead,
    monotonic: () => systemClock.monotonic() + ahead,
    async sleep(ms, signal) {
      await systemClock.sleep(Math.min(ms, 5), signal);
      ahead += ms;
    },
  };
}
