import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Entry, RunBody } from '@updraft/account/journal';
import { jobIds } from './condor-files.ts';

const reported = (...bodies: RunBody[]): Entry[] =>
  bodies.map((body, seq) => ({ v: 1, t: '2026-01-01T00:00:00.000Z', seq, ...body }));

test('the latest id of a resubmitted job comes last', () => {
  const entries = reported(
    { kind: 'submitted', cluster: 7 },
    { kind: 'round-started', round: 2, jobs: ['0002'], why: '' },
    { kind: 'submitted', cluster: 9, round: 2 },
  );
  const names = jobIds(entries, ['0000', '0001', '0002']);
  assert.deepEqual(names.get('0001'), ['7.1']);
  assert.deepEqual(names.get('0002'), ['7.2', '9.0']);
});

test('a round that is not in the queue yet has no ids', () => {
  const entries = reported({ kind: 'round-started', round: 2, jobs: ['0000'], why: '' });
  assert.equal(jobIds(entries, ['0000']).size, 0);
});
