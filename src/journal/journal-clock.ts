import type { Boot, Clock } from '../base/clock.ts';
import type { Entry } from './entry.ts';

/** The clock of a journal's entries. */
export interface JournalClock {
  now: () => number;
  /** The anchor for the first entry, by which later processes continue the same clock. */
  anchorAt?: (at: number) => Boot;
}

/**
 * A clock that starts at the current time and advances evenly, even if the wall clock is set. A process that continues
 * another's journal since the same boot continues its clock. This applies only to journals whose first entry has an
 * anchor (`anchors`): others are read together with logs that use the wall clock.
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
