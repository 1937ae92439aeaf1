import assert from 'node:assert/strict';
import { test } from 'node:test';
import { largest } from './describe.ts';

test('the largest come first, and of equal ones the earlier', () => {
  const items = [3, undefined, 9, 1, 9, 0, 7].map((value, at) => ({ value, at }));
  const found = (count: number, above?: number) =>
    largest(items, count, ({ value }) => value, above).map(({ item }) => item.at);
  assert.deepEqual(found(3), [2, 4, 6]);
  assert.deepEqual(found(10, 0), [2, 4, 6, 0, 3]);
  assert.deepEqual(found(0), []);
});
