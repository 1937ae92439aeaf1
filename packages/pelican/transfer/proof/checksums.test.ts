import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  adler32Hasher,
  bytewiseHasher,
  crc32cHasher,
  crcFolding,
  foldingHasher,
  type Hasher,
} from './digest.ts';

const wide = crcFolding();
const crcs: [string, () => Hasher][] = [
  ['with the default algorithm', crc32cHasher],
  ['in words of 16 bytes', () => foldingHasher(wide ?? assert.fail('no 128-bit words'))],
  ['byte by byte', bytewiseHasher],
];

/** Pseudorandom bytes, the same every time. */
const bytes = Buffer.alloc(300_007);
for (let at = 0, seed = 1; at < bytes.length; at++) bytes[at] = (seed = (seed * 48271) % 0x7fffffff) >>> 8;

/** Fed in pieces of these lengths, repeated. */
function digest(hash: Hasher, all: Buffer, ...lengths: number[]): string {
  for (let at = 0, turn = 0; at < all.length; turn++) {
    const length = lengths[turn % lengths.length] ?? all.length;
    hash.update(all.subarray(at, at + length));
    at += length;
  }
  return hash.hex();
}

for (const [how, hasher] of crcs) {
  test(`crc32c ${how} has the values of RFC 3720`, () => {
    const counting = Buffer.from(Array.from({ length: 32 }, (_, index) => index));
    assert.equal(digest(hasher(), Buffer.alloc(0)), '00000000');
    assert.equal(digest(hasher(), Buffer.from('123456789')), 'e3069283');
    assert.equal(digest(hasher(), Buffer.alloc(32)), '8a9136aa');
    assert.equal(digest(hasher(), Buffer.alloc(32, 0xff)), '62a8ab43');
    assert.equal(digest(hasher(), counting), '46dd794e');
    assert.equal(digest(hasher(), counting.reverse()), '113fdb5c');
  });
}

// One byte at a time, with the modulus at every step and the polynomial bit by bit.
function plainCrc32c(all: Buffer): string {
  let value = ~0;
  for (const byte of all) {
    value ^= byte;
    for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? 0x82f63b78 : 0);
  }
  return (~value >>> 0).toString(16).padStart(8, '0');
}

function plainAdler32(all: Buffer): string {
  let [a, b] = [1, 0];
  for (const byte of all) [a, b] = [(a + byte) % 65521, (a + byte + b) % 65521];
  return (b * 65536 + a).toString(16).padStart(8, '0');
}

const kinds: [string, () => Hasher, (all: Buffer) => string][] = [
  ...crcs.map(([how, hasher]): (typeof kinds)[number] => [`crc32c ${how}`, hasher, plainCrc32c]),
  ['adler32', adler32Hasher, plainAdler32],
];

for (const [name, hasher, expected] of kinds) {
  test(`${name} is right for each length, alignment and split`, () => {
    for (let length = 0; length <= 100; length++)
      for (const start of [0, 1, 7, 13]) {
        const all = bytes.subarray(start, start + length);
        const right = expected(all);
        assert.equal(digest(hasher(), all), right, `${length} bytes from ${start}`);
        assert.equal(digest(hasher(), all, 1, 2, 3), right, `${length} bytes from ${start}, in pieces`);
      }
    const ones = Buffer.alloc(100_003, 0xff);
    for (const all of [bytes, bytes.subarray(5), ones, bytes.subarray(0, 3344), bytes.subarray(0, 66_000)]) {
      const right = expected(all);
      for (const cuts of [[], [65_536], [16_384], [1, 4095, 8191, 17, 128, 100_001], [2049]])
        assert.equal(digest(hasher(), all, ...cuts), right, `${all.length} bytes, cut at ${String(cuts)}`);
    }
  });

  test(`${name} keeps two interleaved digests apart`, () => {
    const [one, two] = [hasher(), hasher()];
    for (let at = 0; at < 50_000; at += 5_000) {
      one.update(bytes.subarray(at, at + 5_000));
      two.update(bytes.subarray(at + 1, at + 5_001));
    }
    assert.equal(one.hex(), expected(bytes.subarray(0, 50_000)));
    assert.equal(two.hex(), expected(bytes.subarray(1, 50_001)));
  });
}
