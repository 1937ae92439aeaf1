import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkRatio, defaultUnpackLimits } from './budget.ts';

test('data may grow a thousandfold, and small data without limit', () => {
  checkRatio('x.tar.gz', 10_000_000, 10_320_000_000, defaultUnpackLimits);
  checkRatio('x.tar.gz', 1, 2 ** 30, defaultUnpackLimits);
});

test('a decompression bomb is stopped with both figures', () => {
  assert.throws(() => checkRatio('x.tar.gz', 100_000, 2 ** 31, defaultUnpackLimits), {
    kind: 'archive-unsafe',
    message: /100,000 compressed bytes expanded to more than 2,147,483,648/,
  });
});
