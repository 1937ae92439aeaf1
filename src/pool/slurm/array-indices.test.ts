import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrayIndices, expandIndices } from './array-indices.ts';

test('numbers are written as Slurm takes them, and read as it shows them', () => {
  assert.equal(arrayIndices([0]), '0');
  assert.equal(arrayIndices([0, 1, 2, 5, 7, 8]), '0-2,5,7-8');
  assert.deepEqual(expandIndices('0-2,5'), [0, 1, 2, 5]);
  assert.deepEqual(expandIndices('[3-4%10]'), [3, 4]);
  assert.deepEqual(expandIndices('N/A'), []);
});
