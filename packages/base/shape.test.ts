import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bool, listOf, optional, oneOf, nullable, shape, recordOf, text, Mismatch } from './shape.ts';

const house = shape<{
  name: string;
  rooms: { floor: 1 | 2; lit?: boolean }[];
  tags: Record<string, string | null>;
}>({
  name: text,
  rooms: listOf(shape<{ floor: 1 | 2; lit?: boolean }>({ floor: oneOf([1, 2]), lit: optional(bool) })),
  tags: recordOf(nullable(text)),
});
const right = { name: 'a', rooms: [{ floor: 1 }, { floor: 2, lit: true }], tags: { x: null, y: 'z' } };

test('a valid value is returned, with unknown fields', () => {
  assert.deepEqual(house({ ...right, more: 1 }), { ...right, more: 1 });
});

test('an invalid value is reported with its path', () => {
  for (const [value, message] of [
    [[], '`the house` must be a table, not []'],
    [{ ...right, name: undefined }, '`name` must be a text, not nothing'],
    [{ ...right, rooms: {} }, '`rooms` must be a list, not {}'],
    [{ ...right, rooms: [{ floor: 1 }, { floor: 3 }] }, '`rooms[1].floor` must be one of 1, 2, not 3'],
    [{ ...right, rooms: [7] }, '`rooms[0]` must be a table, not 7'],
    [{ ...right, tags: { x: 'y', 'a b': 4 } }, '`tags.a b` must be a text, not 4'],
  ] as const) {
    const read = house(value);
    assert.ok(read instanceof Mismatch);
    assert.equal(read.describe('the house'), message);
  }
});

test('a check never throws', () => {
  fc.assert(
    fc.property(fc.anything(), (value) => {
      const read = house(value);
      assert.ok(read instanceof Mismatch || typeof read.name === 'string');
    }),
  );
});
