import type { Clock } from './clock.ts';

/**
 * A clock that begins at the time it is and then goes on evenly: one that is set right, or wrong, in between makes no
 * time between two looks at it longer or shorter.
 */
export function steadyClock(clock: Clock): Clock {
  const ahead = clock.now() - clock.monotonic();
  return { ...clock, now: () => Math.round(ahead + clock.monotonic()) };
}
