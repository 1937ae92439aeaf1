import assert from 'node:assert/strict';
import { test } from 'node:test';
import { showAmount } from './show.ts';

test('amounts are told as people write them into submit files', () => {
  assert.equal(showAmount(2_097_152, 'KB'), '2 GB');
  assert.equal(showAmount(1500, 'MB'), '1.5 GB');
  assert.equal(showAmount(287, 'MB'), '287 MB');
  assert.equal(showAmount(0.126, null), '0.13');
  assert.equal(showAmount(3, 'Gpus'), '3 Gpus');
});
