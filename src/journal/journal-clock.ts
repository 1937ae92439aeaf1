import type { Boot, Clock } from '../base/clock.ts';
import type { Entry } from './entry.ts';

/** The clock by which the entries of a journal are stamped. */
export interface JournalClock {
  now: () => number;
  /** What an entry of this time has to carry, so that later processes go on by the same clock; for the first entry only. */
  anchorAt?: (at: number) => Boot;
}

/**
 * A clock that begins at the time it is and goes on evenly: a wall clock that is set in between makes nothing longer or
 * shorter. A process that goes on with the journal of another one, since the same start of the machine, goes on with its
 * clock. Only journals whose first entry says so (`anchors`) are kept so: others are read beside logs that go by the wall clock.
 */
export function journalClock(clock: Clock, entries: readonly Entry[], anchors: boolean): JournalClock {
  const boot = clock.boot?.();
  const anchored = entries.filter((entry) => entry.boot !== undefined);
  const known = anchored.findLast((entry) => entry.boot?.id === boot?.id);
  const from = clock.monotonic();
  const start =
    known?.boot === undefined || boot === undefined
      ? clock.now()
      : Date.parse(known.t) + boot.up - known.boot.up;
  const isNew = known === undefined && (entries.length === 0 ? anchors : anchored.length > 0);
  return {
    now: () => Math.round(start + clock.monotonic() - from),
    ...(isNew && boot !== undefined ? { anchorAt: (at) => ({ ...boot, up: boot.up + at - start }) } : {}),
  };
}
