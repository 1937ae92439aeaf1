import type { Clock } from '../base/clock.ts';
import type { Fault } from '../fault/fault.ts';

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

/** Rejects with the signal's reason as soon as it aborts, whatever `promise` does. */
export function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) {
      abort();
      return;
    }
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
