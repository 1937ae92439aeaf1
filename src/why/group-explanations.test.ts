import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Explanation } from '../diagnosis/explanation.ts';
import { groupExplanations } from './group-explanations.ts';

const explained = (job: string, lr: number): Explanation => ({
  ...{ job, name: `lr=${lr}`, standing: 'failed', cause: 'exit-code', title: 'it failed' },
  ...{ because: [], evidence: [], doing: [], advice: [] },
});

test('a few jobs are named by their parameters, many by their ids', () => {
  const [few] = groupExplanations([explained('0001', 0.1), explained('0002', 0.2)]);
  assert.deepEqual(few?.labels, ['0001 lr=0.1', '0002 lr=0.2']);
  const many = Array.from({ length: 60 }, (_, index) => explained(String(index), index));
  const [group] = groupExplanations(many);
  assert.equal(group?.jobs.length, 60);
  assert.notEqual(group.labels.length, group.jobs.length);
});
