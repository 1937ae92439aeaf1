import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entry, RunBody } from '@updraft/account/journal';
import { arrayIndices, expandIndices, tasksOf } from './tasks.ts';

const entries = (...bodies: RunBody[]): Entry[] =>
  bodies.map((body, seq) => ({ v: 1, t: '2026-01-01T00:00:00.000Z', seq, ...body }));

test('a job keeps its index in every array, and its latest array counts', () => {
  const created = { run: 'a', name: 'a', pool: 'slurm', planHash: '', version: '' };
  const tasks = tasksOf(
    entries(
      { kind: 'run-created', jobs: ['0000', '0001', '0002'], ...created },
      { kind: 'canary-set', rungs: [1] },
      { kind: 'submitted', cluster: 7 },
      { kind: 'round-started', round: 2, jobs: ['0001'], why: '' },
      { kind: 'submitted', cluster: 9, round: 2 },
    ),
  );
  assert.deepEqual(Object.fromEntries(tasks), {
    '0000': { array: 7, index: 0 },
    '0001': { array: 9, index: 1 },
  });
});

test('indices are written as Slurm expects them, and read as it shows them', () => {
  assert.equal(arrayIndices([0]), '0');
  assert.equal(arrayIndices([0, 1, 2, 5, 7, 8]), '0-2,5,7-8');
  assert.deepEqual(expandIndices('0-2,5'), [0, 1, 2, 5]);
  assert.deepEqual(expandIndices('[3-4%10]'), [3, 4]);
  assert.deepEqual(expandIndices('N/A'), []);
});
