import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAccounts, parseSqueue } from './slurm-pool.ts';

test('waiting jobs share one line of the queue, and each is found', () => {
  const rows = new Map(parseSqueue('12|3|RUNNING|None\n12|[4-5%2]|PENDING|JobArrayTaskLimit\n'));
  assert.deepEqual([...rows.keys()], ['12_3', '12_4', '12_5']);
  assert.deepEqual(rows.get('12_5'), { state: 'PENDING', reason: 'JobArrayTaskLimit' });
});

test('accounting appends to the state who cancelled a job', () => {
  const rows = new Map(readAccounts('12_3|CANCELLED by 1000\n12_[4-5]|PENDING\n13|COMPLETED\n'));
  assert.equal(rows.get('12_3')?.state, 'CANCELLED');
  assert.equal(rows.get('12_4')?.state, 'PENDING');
  assert.equal(rows.size, 3);
});
