import type { Clock } from '../base/clock.ts';
import { orAborted } from '../base/map-limited.ts';

interface Deadline {
  clock: Clock;
  signal: AbortSignal;
  ms: number;
  /** What it ends with when the time is up. */
  late: () => Error;
}

/** Runs `work` with a signal that aborts after `ms`, or with the outer signal; does not wait for work that ignores it. */
export async function withDeadline<T>(
  { clock, signal, ms, late }: Deadline,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const isLate = new AbortController();
  const finished = new AbortController();
  clock.sleep(ms, finished.signal).then(
    () => isLate.abort(late()),
    () => undefined,
  );
  const either = AbortSignal.any([signal, isLate.signal]);
  try {
    return await orAborted(work(either), either);
  } finally {
    finished.abort();
  }
}
