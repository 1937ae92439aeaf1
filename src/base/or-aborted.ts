import type { Clock } from './clock.ts';

/** Rejects with the signal's reason as soon as it aborts, whatever `promise` does. */
export async function orAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return await promise;
  return await new Promise((resolve, reject) => {
    const abort = () => reject(signal.reason as Error);
    if (signal.aborted) abort();
    signal.addEventListener('abort', abort, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}

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
