import { ascending, mean, quantile, standardDeviation } from './describe.ts';

/** An interval that has the true value in 95 of 100 samples. */
export type Interval = readonly [low: number, high: number];

const resamples = 2000;
const seed = 20_240_610;
/** Drawing more values each time takes long, and the formulas for large samples give the same result. */
export const maxResampled = 2000;
/** A coin thrown more often than this has chances too small for a number. */
const maxExact = 1000;
/** The 97.5 % quantile of the normal distribution. */
const normal95 = 1.959964;

/** Fewer values have no such interval of the median: even from the least to the largest is too short. */
export const minOrdered = 6;
/** The 97.5 % quantiles of Student's t for so few: with 1, 2, 3 and 4 degrees of freedom. */
const student95 = [12.706205, 4.302653, 3.182446, 2.776445];

/** Of the median, between two of the values; of fewer than six, of the mean, within its limits; null for one. */
export function medianInterval(
  sorted: ArrayLike<number>,
  limits: Interval = [-Infinity, Infinity],
): Interval | null {
  const size = sorted.length;
  if (size < minOrdered) return meanInterval(sorted, limits);
  const reach = (normal95 * Math.sqrt(size)) / 2;
  const rank = size > maxExact ? Math.floor(size / 2 - reach) : exactRank(size);
  return [sorted[rank] ?? 0, sorted[size - 1 - rank] ?? 0];
}

/** The last rank, from 0, that the median is below in at most 2.5 of 100 samples: each value is like a coin. */
function exactRank(size: number): number {
  let rank = 0;
  let chance = 0.5 ** size;
  let below = chance;
  while ((below += chance *= (size - rank) / (rank + 1)) <= 0.025) rank += 1;
  return rank;
}

/** By Student's t. */
function meanInterval(values: ArrayLike<number>, [least, most]: Interval): Interval | null {
  const [middle, deviation] = [mean(values) ?? 0, standardDeviation(values)];
  if (deviation === null) return null;
  const reach = ((student95[values.length - 2] ?? normal95) * deviation) / Math.sqrt(values.length);
  return [Math.max(least, middle - reach), Math.min(most, middle + reach)];
}

/**
 * The percentile bootstrap interval of a cost per success: the sum of the costs over the number of successes. Samples
 * without a success have an infinite cost. Null if there is no success. The same samples give the same interval.
 */
export function costInterval(samples: readonly { cost: number; isSuccess: boolean }[]): Interval | null {
  const size = samples.length;
  if (size < 2 || !samples.some(({ isSuccess }) => isSuccess)) return null;
  if (size < minOrdered || size > maxResampled) return ratioInterval(samples);
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

/**
 * The interval of a ratio of two sums, by its normal approximation (the delta method), or Student's t if they are
 * few.
 */
function ratioInterval(samples: readonly { cost: number; isSuccess: boolean }[]): Interval {
  const successes = samples.reduce((sum, { isSuccess }) => sum + Number(isSuccess), 0);
  const ratio = samples.reduce((sum, { cost }) => sum + cost, 0) / successes;
  const squares = samples.reduce(
    (sum, { cost, isSuccess }) => sum + (cost - ratio * Number(isSuccess)) ** 2,
    0,
  );
  const size = samples.length;
  const reach = ((student95[size - 2] ?? normal95) * Math.sqrt((squares * size) / (size - 1))) / successes;
  return [Math.max(0, ratio - reach), ratio + reach];
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
