/** Circuit breaker of one server: after a failure it rests, longer each time, then one try decides. */
export interface Breaker {
  failures: number;
  /** Milliseconds on the monotonic clock before which it is left alone. */
  restsUntil: number;
}

export const closedBreaker: Breaker = { failures: 0, restsUntil: 0 };

const firstRestMs = 500;
const longestRestMs = 60_000;

/** After a failed try; a server may ask for a longer rest than it would get. */
export function tripped(breaker: Breaker, now: number, askedMs = 0): Breaker {
  const failures = breaker.failures + 1;
  const restMs = Math.min(longestRestMs, firstRestMs * 2 ** (failures - 1));
  return { failures, restsUntil: now + Math.max(restMs, askedMs) };
}
