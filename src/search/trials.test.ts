import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { gridTrials, type SearchRange, randomTrials, spaceSize } from './trials.ts';

const ranges = {
  lr: { log: [1e-5, 1e-1] },
  dropout: { uniform: [0, 0.5] },
  layers: { int: [2, 8] },
  optimizer: ['adam', 'sgd'],
} as const satisfies Record<string, SearchRange>;

test('a seed draws the same trials for ever, and more of them begin with the same', () => {
  const few = randomTrials(ranges, 5, 0);
  assert.deepEqual(few[0], { lr: 0.00008627, dropout: 0.01974, layers: 4, optimizer: 'sgd' });
  assert.deepEqual(randomTrials(ranges, 50, 0).slice(0, 5), few);
  const { optimizer, ...others } = ranges;
  assert.deepEqual(randomTrials({ optimizer, ...others }, 5, 0), few);
  assert.notDeepEqual(randomTrials(ranges, 5, 1), few);
});

test('values are in their range, each third of it has a third of them, and no two trials are alike', () => {
  const trials = randomTrials(ranges, 3000, 7);
  assert.equal(new Set(trials.map((one) => JSON.stringify(one))).size, 3000);
  const shareOf = (isIn: (one: (typeof trials)[number]) => boolean): number =>
    trials.filter(isIn).length / 3000;
  const near = (share: number, expected: number): void =>
    assert.ok(Math.abs(share - expected) < 0.04, `${share}`);
  near(
    shareOf(({ lr }) => Number(lr) < 1e-5 * 10 ** (4 / 3)),
    1 / 3,
  );
  near(
    shareOf(({ dropout }) => Number(dropout) < 0.5 / 3),
    1 / 3,
  );
  near(
    shareOf(({ layers }) => layers === 8),
    1 / 7,
  );
  near(
    shareOf(({ optimizer }) => optimizer === 'adam'),
    1 / 2,
  );
  for (const { lr, dropout } of trials) {
    assert.ok(Number(lr) >= 1e-5 && Number(lr) <= 1e-1);
    assert.ok(Number(dropout) >= 0 && Number(dropout) <= 0.5);
  }
});

test('any countable space can be drawn whole, and is the grid', () => {
  const space = fc.dictionary(
    fc.stringMatching(/^[a-z]{1,3}$/),
    fc.oneof(
      fc.uniqueArray(fc.integer(), { minLength: 1, maxLength: 4 }),
      fc.tuple(fc.integer({ min: -5, max: 5 }), fc.integer({ min: 1, max: 4 })).map(([low, width]) => ({
        int: [low, low + width] as [number, number],
      })),
    ),
    { minKeys: 1, maxKeys: 3 },
  );
  fc.assert(
    fc.property(space, fc.integer({ min: 0, max: 5 }), (of, seed) => {
      const text = (trial: object): string => JSON.stringify(Object.entries(trial).sort());
      const drawn = randomTrials(of, spaceSize(of), seed).map(text);
      assert.deepEqual(drawn.sort(), gridTrials(of).map(text).sort());
    }),
    { numRuns: 50 },
  );
});

test('a narrow range has as many different values as a wide one', () => {
  for (const uniform of [
    [1000, 1000.1],
    [-0.9001, -0.9],
    [1, 1 + 2e-9],
  ] as const) {
    const drawn = randomTrials({ lr: { uniform } }, 200, 0).map(({ lr }) => Number(lr));
    assert.equal(new Set(drawn).size, 200, uniform.join(' to '));
    assert.ok(drawn.every((one) => one >= uniform[0] && one <= uniform[1]));
  }
});
