import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextBatch } from './next-batch.ts';

const done = (id: string, outcome: 'success' | 'failed' = 'success') => ({ id, outcome });
const running = (id: string) => ({ id, outcome: 'running' as const });
const kept = (id: string) => ({ id, outcome: 'waiting' as const, isKeptBack: true as const });

test('each batch is queued when all before it have a valid result, and the rest after the last batch', () => {
  const canary = [1, 2];
  assert.deepEqual(nextBatch({ canary, jobs: [done('0'), kept('1'), kept('2'), kept('3'), kept('4')] }), [
    '1',
    '2',
  ]);
  assert.deepEqual(nextBatch({ canary, jobs: [done('0'), done('1'), done('2'), kept('3'), kept('4')] }), [
    '3',
    '4',
  ]);
});

test('nothing is queued while a batch is running, after one that failed, or when all are queued', () => {
  const canary = [2];
  assert.deepEqual(nextBatch({ canary, jobs: [done('0'), running('1'), kept('2')] }), []);
  assert.deepEqual(nextBatch({ canary, jobs: [done('0'), done('1', 'failed'), kept('2')] }), []);
  assert.deepEqual(nextBatch({ canary, jobs: [done('0'), done('1')] }), []);
  assert.deepEqual(nextBatch({ jobs: [running('0')] }), []);
});
