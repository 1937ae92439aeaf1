import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { pax } from '../../test/archives/make-tar.ts';
import { parsePax, paxNumber } from './tar-entries.ts';

test('any records come back as they were written, also with line breaks and equals signs in values', () => {
  const keys = fc.string({ minLength: 1 }).filter((key) => !/[=\0]/.test(key));
  fc.assert(
    fc.property(fc.dictionary(keys, fc.string({ unit: 'grapheme' })), (records) => {
      assert.deepEqual(Object.fromEntries(parsePax(pax(records)) ?? [['nothing', '']]), { ...records });
    }),
    { seed: 1 },
  );
});

test('bytes that are not records give nothing', () => {
  for (const text of ['x', '5 a=b', '99 path=x\n', '6 abcd\n', '0 a=b\n', '7  a=b\n\n', '3 \n'])
    assert.equal(parsePax(Buffer.from(text)), undefined, text);
  assert.equal(parsePax(Buffer.from([0x36, 0x20, 0x61, 0x3d, 0xff, 0x0a])), undefined);
});

test('numbers are decimal, with a fraction or without', () => {
  assert.deepEqual(['12', '-1.5', '7.', '1e3', '', '0x1'].map(paxNumber), [
    12,
    -1.5,
    7,
    undefined,
    undefined,
    undefined,
  ]);
});
