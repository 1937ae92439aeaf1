import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined, given } from './defined.ts';

test('a field that is undefined is left out, and every other value is kept', () => {
  const b = undefined as string | undefined;
  const fields: { a: number; b?: string; c: null; d: boolean } = defined({ a: 0, b, c: null, d: false });
  assert.deepEqual(Object.entries(fields), [
    ['a', 0],
    ['c', null],
    ['d', false],
  ]);
});

test('a list has the parts that are there, also those that are empty', () => {
  const [yes, no]: boolean[] = [true, false];
  assert.deepEqual(given('a', yes && 'b', no && 'c', undefined, ''), ['a', 'b', '']);
});
