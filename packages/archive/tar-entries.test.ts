import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { pax } from '../../test/archives/make-tar.ts';
import { paxNumber, readPax } from './tar-reader.ts';

function records(bytes: Buffer): Record<string, string> | undefined {
  const found: [string, string][] = [];
  const isRead = readPax(bytes, (key, value) => void found.push([key, value.toString('utf8')]));
  return isRead ? Object.fromEntries(found) : undefined;
}

test('records are read as they were written, even with line breaks and equals signs in values', () => {
  const keys = fc.string({ minLength: 1 }).filter((key) => !/[=\0]/.test(key));
  fc.assert(
    fc.property(fc.dictionary(keys, fc.string({ unit: 'grapheme' })), (written) => {
      assert.deepEqual(records(pax(written)), { ...written });
    }),
    { seed: 1 },
  );
});

test('bytes that are not records are refused', () => {
  for (const text of ['x', '5 a=b', '99 path=x\n', '6 abcd\n', '0 a=b\n', '7  a=b\n\n', '3 \n'])
    assert.equal(records(Buffer.from(text)), undefined, text);
});

test('values may be any bytes, and an empty header is fine', () => {
  const values: Buffer[] = [];
  const bytes = Buffer.from([0x36, 0x20, 0x61, 0x3d, 0xff, 0x0a]);
  assert.equal(
    readPax(bytes, (_, value) => void values.push(value)),
    true,
  );
  assert.deepEqual(values, [Buffer.from([0xff])]);
  assert.deepEqual(records(Buffer.alloc(0)), {});
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
