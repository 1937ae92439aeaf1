import assert from 'node:assert/strict';
import { test } from 'node:test';
import { costInterval, medianInterval } from './intervals.ts';
import { completionCurve } from './describe.ts';
import { chiSquareTail, holm, kruskalWallis, mannWhitney, neededPerSample } from './rank-tests.ts';

// The expected values are those of SciPy 1.17.1, unless a comment says otherwise.
const isNear = (actual: number | undefined, expected: number, within = 1e-6): void => {
  assert.ok(Math.abs((actual ?? NaN) - expected) <= within, `${actual} is not ${expected}`);
};

test('the tails of chi-square are those of its tables', () => {
  isNear(chiSquareTail(3.841459, 1), 0.05);
  isNear(chiSquareTail(9.487729, 4), 0.05);
  isNear(chiSquareTail(0.5, 3), 0.9188914);
  isNear(chiSquareTail(40, 5) * 1e7, 1.4933679);
});

test('Mann–Whitney is exact for few values, with ties and without', () => {
  const [fast, slow] = [
    [41, 39, 44, 40, 42],
    [55, 52, 57, 43, 50],
  ];
  assert.equal(mannWhitney(fast, slow)?.method, 'exact');
  // mannwhitneyu(a, b, method='exact')
  isNear(mannWhitney(fast, slow)?.p, 0.0158730159);
  isNear(mannWhitney([1, 2, 3, 4, 5], [6, 7, 8, 9, 10])?.p, 2 / 252);
  isNear(mannWhitney([1, 2, 3], [4, 5, 6])?.p, 0.1);
  // All 126 choices of four of the nine mean ranks, counted.
  isNear(mannWhitney([1, 2, 2, 3], [2, 3, 4, 4, 5])?.p, 11 / 126);
  assert.equal(mannWhitney([1, 1], [1, 1])?.p, 1);
  assert.equal(mannWhitney([], [1]), null);
});

test('Mann–Whitney of many values is approximate, corrected for ties and continuity', () => {
  const x = Array.from({ length: 40 }, (_, at) => at + 1);
  const y = x.map((value) => value + 0.5 + (value % 7));
  // mannwhitneyu(x, y, method='asymptotic')
  assert.equal(mannWhitney(x, y)?.method, 'approximate');
  isNear(mannWhitney(x, y)?.p, 0.2092113993);
  const thirds = x.map((value) => Math.floor(value / 3));
  isNear(
    mannWhitney(
      thirds,
      thirds.map((value) => value + 1),
    )?.p,
    0.2756804738,
  );
});

test('Kruskal–Wallis compares several samples', () => {
  const samples = [
    [6.4, 6.8, 7.2, 8.3, 8.4],
    [2.5, 3.7, 4.9, 5.4, 5.9],
    [1.3, 4.1, 4.9, 5.2, 5.5],
  ];
  // kruskal(...): H = 9.4118, with one tie
  isNear(kruskalWallis(samples)?.p, 0.0090417422);
  // Hollander & Wolfe (1973), p. 116: too few for chi-square (0.68); 20,000 permutations in SciPy had 0.713.
  const few = kruskalWallis([
    [2.9, 3.0, 2.5, 2.6, 3.2],
    [3.8, 2.7, 4.0, 2.4],
    [2.8, 3.4, 3.7, 2.2, 2.0],
  ]);
  assert.equal(few?.method, 'permutations');
  isNear(few.p, 0.713, 0.015);
  assert.equal(kruskalWallis([[1, 1], [1], [1]])?.p, 1);
  const many = Array.from({ length: 140_000 }, (_, at) => at);
  // Three values of 140,003 are drawn each time. All three among the least 100: hardly by chance.
  const rare = kruskalWallis([many, [9.5, 50.5, 99.5], [1]]);
  assert.equal(rare?.method, 'permutations');
  assert.ok(rare.p < 0.001, `${rare.p}`);
  assert.equal(kruskalWallis([many, many, [1, 2, 3]])?.method, 'approximate');
  assert.equal(kruskalWallis([[1, 2], []]), null);
});

test("Holm's adjustment keeps the order and never exceeds 1", () => {
  // R: p.adjust(c(0.01, 0.04, 0.03, 0.005), 'holm')
  assert.deepEqual(
    holm([0.01, 0.04, 0.03, 0.005]).map((p) => Number(p.toFixed(4))),
    [0.03, 0.06, 0.06, 0.02],
  );
  assert.deepEqual(holm([0.9, 0.8]), [1, 1]);
});

test('the interval of a median lies between two of the values, exactly', () => {
  // By binomial coefficients: at most 2.5 of 100 samples have the median beyond each end.
  assert.deepEqual(medianInterval([39, 40, 41, 42, 43, 44, 50, 52, 55, 57]), [40, 55]);
  assert.deepEqual(medianInterval([1, 2, 3, 4, 5, 6]), [1, 6]);
  const upTo = (size: number) => Array.from({ length: size }, (_, at) => at);
  assert.deepEqual(medianInterval(upTo(100)), [39, 60]);
  assert.deepEqual(medianInterval(upTo(1000)), [468, 531]);
  // 20,000 ± 1.96 · √40,000 / 2
  assert.deepEqual(medianInterval(upTo(40_000)), [19_804, 20_195]);
});

test('too few values for that have the interval of their mean', () => {
  // By tables of Student's t: 4.302653 and 2.776445 standard errors.
  const [low, high] = medianInterval([0.8, 0.81, 0.85]) ?? [];
  isNear(low, 0.754276);
  isNear(high, 0.885724);
  const five = medianInterval([-3, -1, 0, 1, 5]) ?? [];
  isNear(five[0], -3.283371);
  isNear(five[1], 4.083371);
  assert.deepEqual(medianInterval([1, 9], [0, 10]), [0, 10], 'it ends at the limits of its figure');
  assert.ok((medianInterval([1, 9])?.[0] ?? 0) < 0);
  assert.equal(medianInterval([1]), null);
});

test('the cost per success counts failures, too', () => {
  const samples = Array.from({ length: 20 }, (_, at) => ({ cost: 1, isSuccess: at % 2 === 0 }));
  const [low = 0, high = 0] = costInterval(samples) ?? [];
  assert.ok(low > 1.2 && low < 1.6 && high > 2.5 && high < 4, `${low} to ${high}`);
  assert.equal(costInterval([{ cost: 1, isSuccess: false }]), null);
  // As the interval of the mean, where all succeed.
  const three = costInterval([8, 8.1, 8.5].map((cost) => ({ cost, isSuccess: true }))) ?? [];
  for (const [at, end] of (medianInterval([8, 8.1, 8.5]) ?? []).entries()) isNear(three[at], end);
  // Of many values, as the bootstrap has it for 2,000 of them: 1.910 to 2.094.
  const many = Array.from({ length: 2001 }, (_, at) => ({ cost: 1, isSuccess: at % 2 === 0 }));
  const [from = 0, to = 0] = costInterval(many) ?? [];
  isNear(from, 1.91, 0.01);
  isNear(to, 2.094, 0.01);
});

test('a completion curve is that of Kaplan and Meier', () => {
  // Remission under 6-MP (Gehan 1965), in weeks; the shares are those of ecdf(CensoredData(...)).
  const ended = [6, 6, 6, 7, 10, 13, 16, 22, 23].map((seconds) => ({ seconds, isDone: true }));
  const unended = [6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35];
  const curve = completionCurve([...unended.map((seconds) => ({ seconds, isDone: false })), ...ended]);
  assert.deepEqual(
    curve.map(({ seconds, share }) => [seconds, Number(share.toFixed(5))]),
    [
      [6, 0.14286],
      [7, 0.19328],
      [10, 0.24706],
      [13, 0.3098],
      [16, 0.37255],
      [22, 0.46218],
      [23, 0.55182],
    ],
  );
  assert.deepEqual(completionCurve([]), []);
});

test('the needed number grows with the spread', () => {
  const samples = [
    [90, 100, 110],
    [90, 100, 110],
  ];
  // Two normal samples with a deviation of 10, to see a difference of 10: 2 (1.96 + 0.84)² = 15.7, times π / 3.
  assert.equal(neededPerSample(samples, 0.1), 17);
  assert.equal(neededPerSample([[1], [2]], 0.1), null);
  // However small the spread: three against three cannot show any difference.
  assert.equal(
    neededPerSample(
      [
        [1, 1, 1.001],
        [1, 1, 1.001],
      ],
      0.1,
    ),
    4,
  );
});
