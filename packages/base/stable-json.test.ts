import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { stableJson } from './stable-json.ts';

test('the order of keys does not matter at any depth, and the value is preserved', () => {
  assert.equal(
    stableJson({ b: 1, a: { d: [2, { y: 1, x: 2 }], c: 3 } }),
    '{"a":{"c":3,"d":[2,{"x":2,"y":1}]},"b":1}',
  );
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (table) => {
      const reversed = Object.fromEntries(Object.entries(table).reverse());
      assert.equal(stableJson(reversed), stableJson(table));
      assert.deepEqual(JSON.parse(stableJson(table)), JSON.parse(JSON.stringify(table)));
    }),
  );
});

test('the order of a list matters', () => {
  assert.notEqual(stableJson([1, 2]), stableJson([2, 1]));
});
