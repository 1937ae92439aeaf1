import type { Clock } from '../../base/clock.ts';
import type { Fault } from '../../fault/fault.ts';

/** Runs `work` with a signal that aborts with `fault()` after `ms`, or with the outer signal's reason. */
export async function withDeadline<T>(
  { clock, signal, ms, fault }: { clock: Clock; signal: AbortSignal; ms: number; fault: () => Fault },
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const late = new AbortController();
  const finished = new AbortController();
  clock.sleep(ms, finished.signal).then(
    () => late.abort(fault()),
    () => undefined,
  );
  try {
    return await work(AbortSignal.any([signal, late.signal]));
  } finally {
    finished.abort();
  }
}
