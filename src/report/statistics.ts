/** Linear interpolation, the default of NumPy and R; null without values. */
export function quantile(sorted: readonly number[], share: number): number | null {
  const place = (sorted.length - 1) * share;
  const [low, high] = [sorted[Math.floor(place)], sorted[Math.ceil(place)]];
  if (low === undefined || high === undefined) return null;
  return low + (high - low) * (place - Math.floor(place));
}

export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Of a sample; null for fewer than two values. */
export function standardDeviation(values: readonly number[]): number | null {
  const middle = mean(values);
  if (middle === null || values.length < 2) return null;
  const squares = values.reduce((sum, value) => sum + (value - middle) ** 2, 0);
  return Math.sqrt(squares / (values.length - 1));
}

export const ascending = (values: readonly number[]): number[] => values.toSorted((a, b) => a - b);
