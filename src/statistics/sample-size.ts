import { mean } from './describe.ts';

/** Normal quantiles for p < 0.05 on both sides, and for a power of 80 %. */
const [confidence, power] = [1.959964, 0.841621];
/** How much a rank test needs more than a t-test, if values are normally distributed. */
const rankFactor = Math.PI / 3;

/**
 * How many values per sample would show a difference of this share of the mean four times out of five; null if the
 * samples have too few values to know their spread.
 */
export function neededPerSample(samples: readonly (readonly number[])[], share: number): number | null {
  const all = samples.flat();
  const freedom = all.length - samples.length;
  const wanted = Math.abs(mean(all) ?? 0) * share;
  if (freedom < minFreedom || wanted === 0) return null;
  const squares = samples.flatMap((sample) => {
    const middle = mean(sample) ?? 0;
    return sample.map((value) => (value - middle) ** 2);
  });
  const variance = squares.reduce((sum, square) => sum + square, 0) / freedom;
  return Math.max(
    minPerSample,
    Math.ceil((rankFactor * 2 * (confidence + power) ** 2 * variance) / wanted ** 2),
  );
}

const minFreedom = 4;
/** Three against three cannot differ by more than noise in a rank test, however far apart they are. */
const minPerSample = 4;
