import assert from 'node:assert/strict';
import { test } from 'node:test';
import { jobLabel } from './describe-parameters.ts';

test('a job is named by its short parameters', () => {
  assert.equal(jobLabel('0003', { lr: 0.1, augment: true }), '0003 lr=0.1 augment=true');
  assert.equal(jobLabel('0003', { url: 'osdf:///chtc/images.tar', seed: 2 }), '0003 seed=2');
  assert.equal(jobLabel('0003', { url: 'osdf:///chtc/images.tar' }), '0003');
  assert.equal(jobLabel('0003', { keep: '', seed: 2 }), '0003 seed=2');
  assert.equal(jobLabel('0003'), '0003');
});
