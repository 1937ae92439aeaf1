import { ascending, quantile } from './describe.ts';

/** An interval that has the true value in 95 of 100 samples. */
export type Interval = readonly [low: number, high: number];

const resamples = 2000;
const seed = 20_240_610;
/** Drawing more values each time takes long, and the formulas for large samples give the same result. */
export const maxResampled = 2000;
/** The 97.5 % quantile of the normal distribution. */
const normal95 = 1.959964;

/** The percentile bootstrap interval of the median; null for fewer than two values. The same values give the same interval. */
export function medianInterval(sorted: ArrayLike<number>): Interval | null {
  const size = sorted.length;
  if (size < 2) return null;
  if (size > maxResampled) return orderInterval(sorted);
  const random = seededRandom(seed);
  const counts = new Uint32Array(size);
  return percentiles(() => {
    counts.fill(0);
    for (let drawn = 0; drawn < size; drawn++) bump(counts, Math.floor(random() * size));
    const [low, high] = [(size - 1) >> 1, size >> 1].map((rank) => sorted[ranked(counts, rank)] ?? 0);
    return ((low ?? 0) + (high ?? 0)) / 2;
  });
}

/**
 * The same for a cost per success: the sum of the costs over the number of successes. Samples without a success have
 * an infinite cost. Null if there is no success.
 */
export function costInterval(samples: readonly { cost: number; isSuccess: boolean }[]): Interval | null {
  const size = samples.length;
  if (size < 2 || !samples.some(({ isSuccess }) => isSuccess)) return null;
  if (size > maxResampled) return ratioInterval(samples);
  const random = seededRandom(seed);
  return percentiles(() => {
    let [cost, successes] = [0, 0];
    for (let drawn = 0; drawn < size; drawn++) {
      const sample = samples[Math.floor(random() * size)];
      cost += sample?.cost ?? 0;
      successes += sample?.isSuccess === true ? 1 : 0;
    }
    return cost / successes;
  });
}

function percentiles(statistic: () => number): Interval {
  const found = ascending(Array.from({ length: resamples }, statistic));
  return [quantile(found, 0.025) ?? 0, quantile(found, 0.975) ?? 0];
}

function orderInterval(sorted: ArrayLike<number>): Interval {
  const reach = (normal95 * Math.sqrt(sorted.length)) / 2;
  const at = (rank: number): number => sorted[Math.round(rank)] ?? 0;
  return [at(sorted.length / 2 - reach), at(sorted.length / 2 + reach)];
}

/** The interval of a ratio of two sums, by its normal approximation (the delta method). */
function ratioInterval(samples: readonly { cost: number; isSuccess: boolean }[]): Interval {
  const successes = samples.reduce((sum, { isSuccess }) => sum + Number(isSuccess), 0);
  const ratio = samples.reduce((sum, { cost }) => sum + cost, 0) / successes;
  const squares = samples.reduce(
    (sum, { cost, isSuccess }) => sum + (cost - ratio * Number(isSuccess)) ** 2,
    0,
  );
  const reach = (normal95 * Math.sqrt(squares)) / successes;
  return [Math.max(0, ratio - reach), ratio + reach];
}

function bump(counts: Uint32Array, index: number): void {
  counts[index] = (counts[index] ?? 0) + 1;
}

/** The index of the value with this rank, from 0, if each index came `counts` times. */
function ranked(counts: Uint32Array, rank: number): number {
  let before = 0;
  for (let index = 0; index < counts.length; index++) {
    before += counts[index] ?? 0;
    if (before > rank) return index;
  }
  return counts.length - 1;
}

/** Equally distributed numbers of at least 0 and below 1, the same ones for the same seed (Mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
