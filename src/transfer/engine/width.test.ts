import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mayWiden } from './width.ts';

const big = { age: undefined, flow: { bytes: 2 << 20, ms: 200 }, missing: 1 << 30, rate: 50e6 };

test('a big object that flows is worth more servers', () => {
  assert.equal(mayWiden(big), true);
});

test('a cache that has the object is company enough to start at once', () => {
  assert.equal(mayWiden({ ...big, age: 60, flow: { bytes: 0, ms: 0 }, rate: 0 }), true);
});

test('a cache that is filling stays alone', () => {
  assert.equal(mayWiden({ ...big, age: 0 }), false);
});

test('small rests and what is done in a second stay with one server', () => {
  assert.equal(mayWiden({ ...big, missing: 1 << 20 }), false);
  assert.equal(mayWiden({ ...big, rate: 5e9 }), false);
  assert.equal(mayWiden({ ...big, flow: { bytes: 1000, ms: 10 } }), false);
});
