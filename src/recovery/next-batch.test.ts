import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { JobState } from '../journal/state.ts';
import { nextBatch } from './next-batch.ts';

const done = (id: string, outcome: 'success' | 'failed' = 'success'): JobState => ({
  id,
  status: 'ended',
  outcome,
  stopRequested: false,
  attempts: [],
});
const running = (id: string): JobState => ({ id, status: 'running', stopRequested: false, attempts: [] });
const kept = (id: string): JobState => ({ ...running(id), status: 'waiting', isKeptBack: true });

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
