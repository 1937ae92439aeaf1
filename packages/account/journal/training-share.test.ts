import assert from 'node:assert/strict';
import { test } from 'node:test';
import { trainingShare } from './training-share.ts';

test('an epoch is in progress until its steps are done, or it was reported at its end', () => {
  assert.equal(trainingShare({ epoch: 2, epochs: 4 }), 0.25);
  assert.equal(trainingShare({ epoch: 2, epochs: 4, step: 5, steps: 10 }), 0.375);
  assert.equal(trainingShare({ epoch: 2, epochs: 4, done: 2 }), 0.5);
  assert.equal(trainingShare({ epoch: 3, epochs: 4, done: 2 }), 0.5);
  assert.equal(trainingShare({ epoch: 2.5, epochs: 4, done: 2.5 }), 0.625);
});

test('epochs that count from 0 are one more than their number says', () => {
  const share = (epoch: number, more = {}) => trainingShare({ epoch, epochs: 10, firstEpoch: 0, ...more });
  assert.deepEqual([share(0), share(0, { done: 0 }), share(3), share(9)], [0, 0.1, 0.3, 0.9]);
  assert.equal(share(3, { step: 5, steps: 10, done: 2 }), 0.35);
  assert.equal(share(9, { done: 9 }), 1);
  // Of 0 to 10.
  assert.equal(share(10, { done: 9 }), 10 / 11);
});
