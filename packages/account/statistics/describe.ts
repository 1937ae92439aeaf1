/** Linear interpolation, the default of NumPy and R; null without values. */
export function quantile(sorted: ArrayLike<number>, share: number): number | null {
  const place = (sorted.length - 1) * share;
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  if (low === undefined || high === undefined) return null;
  return low + (high - low) * (place - Math.floor(place));
}

export const mean = (values: ArrayLike<number>): number | null =>
  values.length === 0 ? null : sumOf(values, (value) => value) / values.length;

function sumOf(values: ArrayLike<number>, part: (value: number) => number): number {
  let sum = 0;
  for (let at = 0; at < values.length; at++) sum += part(values[at] ?? 0);
  return sum;
}

/** Of a sample; null for fewer than two values. */
export function standardDeviation(values: ArrayLike<number>): number | null {
  const middle = mean(values);
  if (middle === null || values.length < 2) return null;
  const squares = sumOf(values, (value) => (value - middle) ** 2);
  return Math.sqrt(squares / (values.length - 1));
}

/**
 * The few items with the largest values, the largest first, and of equal ones the earlier; none below or at
 * `above`.
 */
export function largest<T>(
  items: readonly T[],
  count: number,
  valueOf: (item: T) => number | undefined,
  above = -Infinity,
): { item: T; value: number }[] {
  const found: { item: T; value: number }[] = [];
  let least = 0;
  for (const item of items) {
    const value = valueOf(item);
    if (value === undefined || !(value > above) || (found.length >= count && value <= least)) continue;
    let at = 0;
    while (at < found.length && (found[at]?.value ?? 0) >= value) at += 1;
    found.splice(at, 0, { item, value });
    if (found.length > count) found.pop();
    least = found.at(-1)?.value ?? 0;
  }
  return found;
}

/** An array of plain numbers: a comparison for each pair costs ten times as much, and boxes every number. */
export const ascending = (values: readonly number[]): Float64Array => new Float64Array(values).sort();

/** From `seconds` on, this share is done. */
export interface CompletionPoint {
  seconds: number;
  share: number;
}

/**
 * The Kaplan–Meier estimate of the share that is done by a time: those without an end count until they were last
 * seen.
 */
export function completionCurve(
  lifetimes: readonly { seconds: number; isDone: boolean }[],
): CompletionPoint[] {
  const sorted = lifetimes.toSorted((a, b) => a.seconds - b.seconds);
  const points: CompletionPoint[] = [];
  let left = 1;
  for (let at = 0; at < sorted.length;) {
    const seconds = sorted[at]?.seconds ?? 0;
    const atRisk = sorted.length - at;
    let ended = 0;
    for (; sorted[at]?.seconds === seconds; at++) if (sorted[at]?.isDone === true) ended += 1;
    left *= 1 - ended / atRisk;
    if (ended > 0) points.push({ seconds, share: 1 - left });
  }
  return points;
}
