import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byImportance, isLowerBetter, joinDirections } from '@updraft/base/training';
import type { RefusedMetrics } from './entry.ts';
import { addExtreme, type OwnExtremes, refusedOfRun } from './metrics.ts';
import type { FoldedAttempt, JobState } from './state.ts';
import { jobMetrics } from './training-curve.ts';

test('a smaller loss or error is better, a larger anything else, by their names', () => {
  const smaller =
    'loss val_loss test/error perplexity eval_ppl rmse valMAE top1_err wer test/CER eer der fid';
  const more =
    'val_nll bpb bits_per_char bce_loss mse_0 MSE SMAPE LPIPS ece kl latency_ms inference_time fpr95';
  for (const name of `${smaller} ${more} val_cross_entropy crossentropy hausdorff_distance`.split(' '))
    assert.equal(isLowerBetter(name), true, name);
  const larger =
    'accuracy val_acc f1 auc images_per_s samples_per_second maestro power answer officer layer_norm';
  for (const name of `${larger} bleu reward timestep_reward sometimes psnr number elbo`.split(' '))
    assert.equal(isLowerBetter(name), false, name);
});

test('what the job file says of a metric counts, with and without its pass', () => {
  const said = { smallerIsBetter: ['energy'], largerIsBetter: ['time_saved', 'f1_error'] };
  for (const name of ['energy', 'val_energy', 'test/energy', 'loss'])
    assert.equal(isLowerBetter(name, said), true, name);
  for (const name of ['time_saved', 'val_f1_error', 'energy_gain', 'synergy'])
    assert.equal(isLowerBetter(name, said), false, name);
  assert.deepEqual(byImportance(['val_energy', 'val_x'], said), ['val_x', 'val_energy']);
  assert.deepEqual(joinDirections([said, {}, { smallerIsBetter: ['a', 'energy'] }]), {
    smallerIsBetter: ['energy', 'a'],
    largerIsBetter: ['time_saved', 'f1_error'],
  });
});

test('the validation decides before the test, and both before the training', () => {
  const names = ['loss', 'accuracy', 'test_accuracy', 'val_loss', 'val_accuracy'];
  assert.deepEqual(byImportance(names), ['val_accuracy', 'val_loss', 'test_accuracy', 'accuracy', 'loss']);
  assert.deepEqual(byImportance(['val/mcc', 'val_f1', 'val_mae', 'val_loss', 'val/top1']), [
    ...['val/top1', 'val_loss', 'val/mcc', 'val_f1', 'val_mae'],
  ]);
  assert.deepEqual(byImportance(['loss', 'F1_score']), ['F1_score', 'loss']);
});

test('the best of all attempts is kept, as the job file says, and a number is better than NaN', () => {
  const attempts = [
    { loss: 2, accuracy: 0.5, energy: 3, a: NaN },
    { loss: 1, accuracy: 0.4, energy: 7, a: 3, b: 1 },
    { loss: NaN },
  ].map((values, index) => {
    const training: OwnExtremes = {};
    for (const [name, value] of Object.entries(values)) addExtreme(training, name, value);
    return { attempt: index + 1, agent: { training } } as FoldedAttempt;
  });
  const best = { loss: 1, accuracy: 0.5, energy: 7, a: 3, b: 1 };
  assert.deepEqual(jobMetrics({ attempts }).best, best);
  const directions = { smallerIsBetter: ['energy'], largerIsBetter: ['loss'] };
  assert.deepEqual(jobMetrics({ attempts, directions }).best, { ...best, energy: 3, loss: 2 });
});

test('metrics that are not kept are a sentence for each reason, about the job with the most', () => {
  const job = (id: string, ...refused: RefusedMetrics[]) =>
    ({ id, attempts: [{ agent: { training: { refused } } }] }) as unknown as JobState;
  const many = (count: number): RefusedMetrics => ({ why: 'too-many', count, examples: ['a', 'b', 'c'] });
  const jobs = [
    job('0000', many(4)),
    job('0001', many(9), { why: 'no-letter', count: 1, examples: ['?'] }),
    job('0002'),
  ];
  jobs[1]!.name = 'lr=1';
  assert.deepEqual(refusedOfRun(jobs), [
    '9 metrics of job 0001 lr=1 (also of 1 other job) were not kept (such as "a", "b", "c"): the first 32 metrics of a training count, besides loss and accuracy.',
    '1 metric of job 0001 lr=1 was not kept ("?"): the name of a metric needs a letter.',
  ]);
});
