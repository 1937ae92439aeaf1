import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Crc64 } from './crc64.ts';

test('the checksum of the nine digits is the one the standard gives, in any pieces', () => {
  for (const pieces of [['123456789'], ['1234', '', '56789']]) {
    const sum = new Crc64();
    for (const piece of pieces) sum.update(Buffer.from(piece));
    assert.equal(sum.digest().toString('hex'), 'fa3919dfbbc95d99');
  }
});
