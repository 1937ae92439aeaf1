import { Fault } from '../fault/fault.ts';
import type { World } from './world.ts';

/** Timers cannot be set further ahead than about 24 days. */
const longestSleepMs = 3_600_000;

/** The same world, whose signal also aborts when the attempt's time is up. `done` stops the clock. */
export function limitTime(world: World, seconds: number | undefined): { world: World; done: () => void } {
  if (seconds === undefined) return { world, done: () => undefined };
  const up = new AbortController();
  const over = new AbortController();
  const { clock } = world;
  const wait = async (): Promise<void> => {
    const end = clock.monotonic() + seconds * 1000;
    for (let left = seconds * 1000; left > 0; left = end - clock.monotonic())
      await clock.sleep(Math.min(left, longestSleepMs), over.signal);
    up.abort(
      new Fault('time-limit', `the attempt ran into its time limit of ${seconds} s`, {
        fix: 'ask for more `time` in [resources], or set `checkpoint` so that the next attempt goes on from there',
      }),
    );
  };
  wait().catch(() => undefined); // rejects only because `done` was called
  return {
    world: { ...world, signal: AbortSignal.any([world.signal, up.signal]) },
    done: () => over.abort(),
  };
}
