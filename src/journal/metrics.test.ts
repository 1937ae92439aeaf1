import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byImportance, isLowerBetter } from '../base/metric-direction.ts';
import type { RefusedMetrics } from './entry.ts';
import { betterOf, refusedOfRun, refusedSentences } from './metrics.ts';
import type { JobState } from './state.ts';

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

test('metrics that are not kept are a sentence for each reason, about the job with the most', () => {
  const job = (id: string, ...refusedMetrics: RefusedMetrics[]) =>
    ({ id, attempts: [{ agent: { refusedMetrics } }] }) as unknown as JobState;
  const many = (count: number): RefusedMetrics => ({ why: 'too-many', count, examples: ['a', 'b', 'c'] });
  const jobs = [
    job('0000', many(4)),
    job('0001', many(9), { why: 'no-letter', count: 1, examples: ['?'] }),
    job('0002'),
  ];
  assert.deepEqual(refusedOfRun(jobs), [
    '9 metrics of job 0001 (also of 1 other job) were not kept (such as "a", "b", "c"): the first 32 metrics of a training count.',
    '1 metric of job 0001 was not kept ("?"): the name of a metric needs a letter.',
  ]);
  assert.deepEqual(refusedSentences(jobs[0]?.attempts[0]), [
    '4 metrics were not kept (such as "a", "b", "c"): the first 32 metrics of a training count.',
  ]);
});
