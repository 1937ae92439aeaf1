import assert from 'node:assert/strict';
import { test } from 'node:test';
import { firstFew } from './printable.ts';

test('the first names are listed, and the rest is counted', () => {
  assert.equal(firstFew(['a', 'b'], 2), 'a, b');
  assert.equal(firstFew(['a', 'b', 'c', 'd'], 2), 'a, b and 2 more');
  assert.equal(firstFew([], 2), '');
});
