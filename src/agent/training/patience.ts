import type { World } from '../world.ts';

/**
 * Aborts when the grace after the attempt's signal has passed, or at once when asked to hurry: for what would be a
 * pity to throw away, such as a result that is ready. `done` must be called at the end of that work.
 */
export function withPatience({ signal, hurry, clock, graceMs }: World): {
  signal: AbortSignal;
  done: () => void;
} {
  const late = new AbortController();
  const over = new AbortController();
  const begin = (): void => {
    const abort = (): void => late.abort(signal.reason);
    clock.sleep(graceMs(), AbortSignal.any([hurry, over.signal])).then(abort, () => {
      if (!over.signal.aborted) abort();
    });
  };
  if (signal.aborted) begin();
  else signal.addEventListener('abort', begin, { once: true, signal: over.signal });
  return { signal: late.signal, done: () => over.abort() };
}
