import { randomTrials, type SearchRange, type Trial } from '../../src/search/trials.ts';

/** What the small trainings search. */
export const ranges: Record<string, SearchRange> = {
  lr: { log: [1e-4, 10] },
  momentum: { uniform: [0, 0.95] },
  width: { int: [2, 16] },
  batch: [8, 32, 128],
  decay: { log: [1e-6, 0.1] },
};

export const epochs = 27;
const points = 1000;

/** A generator of numbers from 0 to 1, the same for a seed on every machine. */
export function randomNumbers(seed: number): () => number {
  let state = (seed * 2_654_435_761) % 2_147_483_647 || 1;
  const next = (): number => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
  next();
  return next;
}

interface Points {
  x: Float64Array;
  y: Float64Array;
}

/** Points in a square; whether one is in a ring is to be learnt, and a twentieth of the answers is wrong. */
function makePoints(seed: number): Points {
  const random = randomNumbers(seed);
  const [x, y] = [new Float64Array(points * 2), new Float64Array(points)];
  for (let at = 0; at < points; at++) {
    const [a, b] = [random() * 2 - 1, random() * 2 - 1];
    x.set([a, b], at * 2);
    const radius = Math.hypot(a, b);
    y[at] = (radius > 0.4 && radius < 0.85) !== random() < 0.05 ? 1 : 0;
  }
  return { x, y };
}

const [seen, unseen] = [makePoints(1), makePoints(2)];

/** Indices are within; the compiler cannot know. */
const of = (values: Float64Array, at: number): number => values[at] ?? NaN;

/** Trains a network of one hidden layer by SGD with momentum: its accuracy on unseen points after each epoch. */
export function train(trial: Trial, seed: number): number[] {
  const [lr, momentum, width, batch, decay] = ['lr', 'momentum', 'width', 'batch', 'decay'].map((name) =>
    Number(trial[name]),
  ) as [number, number, number, number, number];
  const random = randomNumbers(seed + 3);
  // For each hidden unit two weights, a bias, and its weight in the sum; last, the bias of the sum.
  const size = width * 4 + 1;
  const weights = Float64Array.from({ length: size }, () => (random() - 0.5) * 2);
  const [slope, speed, hidden] = [new Float64Array(size), new Float64Array(size), new Float64Array(width)];
  const forward = (x: Float64Array, at: number): number => {
    let sum = of(weights, size - 1);
    for (let unit = 0; unit < width; unit++) {
      const w = unit * 4;
      hidden[unit] = Math.tanh(
        of(weights, w) * 3 * of(x, at * 2) + of(weights, w + 1) * 3 * of(x, at * 2 + 1) + of(weights, w + 2),
      );
      sum += of(weights, w + 3) * of(hidden, unit);
    }
    return 1 / (1 + Math.exp(-sum));
  };
  const step = (count: number): void => {
    for (let at = 0; at < size; at++) {
      speed[at] = momentum * of(speed, at) - lr * (of(slope, at) / count + decay * of(weights, at));
      weights[at] = of(weights, at) + of(speed, at);
    }
    slope.fill(0);
  };
  const curve: number[] = [];
  for (let epoch = 0; epoch < epochs; epoch++) {
    for (let at = 0; at < points; at++) {
      const error = forward(seen.x, at) - of(seen.y, at);
      slope[size - 1] = of(slope, size - 1) + error;
      for (let unit = 0; unit < width; unit++) {
        const w = unit * 4;
        const back = error * of(weights, w + 3) * (1 - of(hidden, unit) ** 2);
        slope[w] = of(slope, w) + back * 3 * of(seen.x, at * 2);
        slope[w + 1] = of(slope, w + 1) + back * 3 * of(seen.x, at * 2 + 1);
        slope[w + 2] = of(slope, w + 2) + back;
        slope[w + 3] = of(slope, w + 3) + error * of(hidden, unit);
      }
      if ((at + 1) % batch === 0 || at === points - 1) step(batch);
    }
    let right = 0;
    for (let at = 0; at < points; at++)
      if (forward(unseen.x, at) > 0.5 === of(unseen.y, at) > 0.5) right += 1;
    curve.push(right / points);
  }
  return curve;
}

/** The curves of the first trials of a seed. */
export const curvesOf = (trials: number, seed: number): number[][] =>
  randomTrials(ranges, trials, seed).map((trial, at) => train(trial, seed * 1_000_003 + at));

/** This number of curves, none twice: a search over some of them. */
export function sampled(curves: readonly number[][], count: number, seed: number): number[][] {
  const random = randomNumbers(seed * 7919 + 3);
  const left = [...curves];
  return Array.from({ length: count }, () => left.splice(Math.floor(random() * left.length), 1)[0] ?? []);
}
