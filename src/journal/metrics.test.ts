import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byImportance, isLowerBetter } from '../base/metric-direction.ts';
import { betterOf } from './metrics.ts';

test('a smaller loss or error is better, a larger anything else', () => {
  for (const name of ['loss', 'val_loss', 'test/error', 'perplexity', 'rmse', 'top1_err'])
    assert.equal(isLowerBetter(name), true, name);
  for (const name of ['accuracy', 'val_acc', 'f1', 'auc', 'images_per_s', 'maestro'])
    assert.equal(isLowerBetter(name), false, name);
});

test('the validation decides before the test, and both before the training', () => {
  const names = ['loss', 'accuracy', 'test_accuracy', 'val_loss', 'val_accuracy'];
  assert.deepEqual(byImportance(names), ['val_accuracy', 'val_loss', 'test_accuracy', 'accuracy', 'loss']);
});

test('the best of two is kept, and a number is better than NaN', () => {
  const best = betterOf({ loss: 2, accuracy: 0.5, a: NaN }, { loss: 1, accuracy: 0.4, a: 3, b: 1 });
  assert.deepEqual(best, { loss: 1, accuracy: 0.5, a: 3, b: 1 });
  assert.deepEqual(betterOf({ loss: 1 }, { loss: NaN }), { loss: 1 });
});
