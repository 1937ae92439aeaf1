import { maxResampled, seededRandom } from './intervals.ts';
import { ascending, mean } from './describe.ts';

/** How likely a difference like this is by chance, and how that was found. */
export interface RankTest {
  p: number;
  method: 'exact' | 'permutations' | 'approximate';
}

/** With more values, the exact test takes long, and the approximation is good. */
const maxExact = 50;
/** With fewer values in any group, the approximation of Kruskal and Wallis is poor. */
const minApproximate = 5;
const permutations = 9999;
const seed = 19_520_101;

/** Whether two samples differ (Mann–Whitney, two-sided); null unless both have values. Ties are allowed. */
export function mannWhitney(a: readonly number[], b: readonly number[]): RankTest | null {
  if (a.length === 0 || b.length === 0) return null;
  const { ranks, ties } = doubledRanks([...a, ...b]);
  const sum = ranks.slice(0, a.length).reduce((total, rank) => total + rank, 0);
  const size = ranks.length;
  const distance = Math.abs(sum - a.length * (size + 1));
  if (size <= maxExact) return { p: exactTails(ranks, a.length, distance), method: 'exact' };
  // Ranks are doubled, so the variance is four times as large, and the correction for continuity is 1.
  const variance = ((a.length * b.length) / 3) * (size + 1 - ties / (size * (size - 1)));
  const z = variance === 0 ? 0 : Math.max(0, distance - 1) / Math.sqrt(variance);
  return { p: normalTails(z), method: 'approximate' };
}

/** Whether any of several samples differs from the others (Kruskal–Wallis); null unless at least two have values. */
export function kruskalWallis(samples: readonly (readonly number[])[]): RankTest | null {
  // The largest comes last: permutations need not draw it.
  const ordered = samples.filter(({ length }) => length > 0).sort((a, b) => a.length - b.length);
  const sizes = ordered.map(({ length }) => length);
  if (sizes.length < 2) return null;
  const { ranks, ties } = doubledRanks(ordered.flat());
  const size = ranks.length;
  const correction = 1 - ties / (size ** 3 - size);
  if (correction === 0) return { p: 1, method: 'exact' };
  const squares = sumOfSquares(ranks, sizes);
  if ((sizes[0] ?? 0) < minApproximate && size - (sizes.at(-1) ?? 0) <= maxResampled)
    return { p: permutationTail(ranks, sizes, squares), method: 'permutations' };
  const h = ((3 / (size * (size + 1))) * squares - 3 * (size + 1)) / correction;
  return { p: chiSquareTail(h, sizes.length - 1), method: 'approximate' };
}

/** P-values of several tests, raised so that all together err as rarely as one (Holm), in the same order. */
export function holm(values: readonly number[]): number[] {
  const order = values.map((value, index) => ({ value, index })).sort((a, b) => a.value - b.value);
  const adjusted = [...values];
  let least = 0;
  for (const [at, { value, index }] of order.entries()) {
    least = Math.max(least, Math.min(1, value * (values.length - at)));
    adjusted[index] = least;
  }
  return adjusted;
}

/** Ranks times two, so that the mean rank of equal values is an integer; `ties` is the sum of t³ − t over them. */
function doubledRanks(values: readonly number[]): { ranks: number[]; ties: number } {
  const sorted = ascending(values);
  const rankOf = new Map<number, number>();
  let ties = 0;
  for (let first = 0; first < sorted.length;) {
    const value = sorted[first] ?? 0;
    let next = first + 1;
    while (next < sorted.length && sorted[next] === value) next += 1;
    rankOf.set(value, first + 1 + next);
    ties += (next - first) ** 3 - (next - first);
    first = next;
  }
  return { ranks: values.map((value) => rankOf.get(value) ?? 0), ties };
}

/** The share of all choices of `chosen` ranks whose sum is at least `distance` from its mean. */
function exactTails(ranks: readonly number[], chosen: number, distance: number): number {
  const total = ranks.reduce((sum, rank) => sum + rank, 0);
  // ways[n][s]: choices of n ranks with the sum s.
  const ways = Array.from({ length: chosen + 1 }, () => new Float64Array(total + 1));
  (ways[0] as Float64Array)[0] = 1;
  for (const rank of ranks)
    for (let count = chosen; count > 0; count--) {
      const [to, from] = [ways[count], ways[count - 1]];
      for (let sum = total; sum >= rank && to && from; sum--)
        to[sum] = (to[sum] ?? 0) + (from[sum - rank] ?? 0);
    }
  const mean = (total * chosen) / ranks.length;
  let [far, all] = [0, 0];
  for (const [sum, count] of (ways[chosen] ?? []).entries()) {
    all += count;
    if (Math.abs(sum - mean) >= distance - 1e-9) far += count;
  }
  return far / all;
}

/** The part of Kruskal and Wallis's statistic that changes when values change groups. */
function sumOfSquares(ranks: readonly number[], sizes: readonly number[]): number {
  const { length } = ranks;
  // Doubled ranks add up to this; the last group has what the others leave.
  let [at, squares, left] = [0, 0, length * (length + 1)];
  for (const size of sizes.slice(0, -1)) {
    let sum = 0;
    for (const end = at + size; at < end; at++) sum += ranks[at] ?? 0;
    squares += sum ** 2 / size;
    left -= sum;
  }
  return squares + left ** 2 / (length - at);
}

function permutationTail(ranks: readonly number[], sizes: readonly number[], observed: number): number {
  const random = seededRandom(seed);
  const shuffled = [...ranks];
  const { length } = shuffled;
  const drawn = length - (sizes.at(-1) ?? 0);
  let asLarge = 1;
  for (let round = 0; round < permutations; round++) {
    for (let at = 0; at < drawn; at++) {
      const other = at + Math.floor(random() * (length - at));
      const value = shuffled[at] ?? 0;
      shuffled[at] = shuffled[other] ?? 0;
      shuffled[other] = value;
    }
    if (sumOfSquares(shuffled, sizes) >= observed - 1e-9) asLarge += 1;
  }
  return asLarge / (permutations + 1);
}

/** The probability that a chi-square variable exceeds `x`. */
export function chiSquareTail(x: number, freedom: number): number {
  if (x <= 0) return 1;
  const [shape, half] = [freedom / 2, x / 2];
  return half < shape + 1 ? 1 - lowerGamma(shape, half) : upperGamma(shape, half);
}

/** The probability that a standard normal variable is further from 0 than `z`, on either side. */
const normalTails = (z: number): number => chiSquareTail(z * z, 1);

/** The regularized lower incomplete gamma function, by its series. */
function lowerGamma(shape: number, x: number): number {
  let term = 1 / shape;
  let sum = term;
  for (let step = 1; step < 1000 && term > sum * 1e-15; step++) {
    term *= x / (shape + step);
    sum += term;
  }
  return sum * Math.exp(shape * Math.log(x) - x - logGamma(shape));
}

/** The regularized upper incomplete gamma function, by its continued fraction (Lentz). */
function upperGamma(shape: number, x: number): number {
  let b = x + 1 - shape;
  let c = 1e300;
  let d = 1 / b;
  let fraction = d;
  for (let step = 1; step < 1000; step++) {
    const a = -step * (step - shape);
    b += 2;
    d = 1 / (a * d + b);
    c = b + a / c;
    fraction *= c * d;
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  return fraction * Math.exp(shape * Math.log(x) - x - logGamma(shape));
}

/** For positive multiples of a half, which are all that chi-square needs. */
function logGamma(x: number): number {
  let sum = 0;
  let rest = x;
  for (; rest > 1; rest -= 1) sum += Math.log(rest - 1);
  return rest === 1 ? sum : sum + Math.log(Math.PI) / 2;
}

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
