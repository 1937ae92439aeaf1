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
