import assert from 'node:assert/strict';
import { test } from 'node:test';
import { algorithms, bestDigest, hasher } from './digest.ts';

test('digests are those of the field', () => {
  const expected = {
    'sha-256': '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225',
    sha: 'f7c3bc1d808e04732adf679965ccc34ca7ae3441',
    crc32c: 'e3069283',
    crc32: 'cbf43926',
    md5: '25f9e794323b453885f5181f1b624d0b',
    adler32: '091e01de',
  };
  for (const algorithm of algorithms) {
    for (const cut of [0, 1, 8, 9]) {
      const hash = hasher(algorithm);
      hash.update(Buffer.from('123456789').subarray(0, cut));
      hash.update(Buffer.from('123456789').subarray(cut));
      assert.equal(hash.hex(), expected[algorithm], algorithm);
    }
  }
});

test('checksums of long input stay exact', () => {
  const long = Buffer.alloc(1 << 20, 0xff);
  const hash = hasher('adler32');
  hash.update(long);
  assert.equal(hash.hex(), referenceAdler(long));
});

/** Adler-32 one byte at a time, with the modulus taken at every step. */
function referenceAdler(bytes: Buffer): string {
  let a = 1;
  let b = 0;
  for (const byte of bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return (b * 65536 + a).toString(16).padStart(8, '0');
}

test('the strongest digest offered is chosen', () => {
  const md5 = Buffer.from('25f9e794323b453885f5181f1b624d0b', 'hex').toString('base64');
  assert.deepEqual(bestDigest(`md5=${md5}, crc32c=e3069283`), { algorithm: 'crc32c', hex: 'e3069283' });
  assert.deepEqual(bestDigest(`MD5=${md5}`), { algorithm: 'md5', hex: '25f9e794323b453885f5181f1b624d0b' });
});

test('checksums without leading zeros or in base64 are understood, mislabelled ones passed over', () => {
  assert.deepEqual(bestDigest('crc32c=1f'), { algorithm: 'crc32c', hex: '0000001f' });
  assert.deepEqual(bestDigest('crc32c=4waSgw=='), { algorithm: 'crc32c', hex: 'e3069283' });
  for (const bad of [
    '',
    'crc32c',
    'crc32c=25f9e794323b453885f5181f1b624d0b',
    'md5=abc',
    'sha-256=!!',
    'unixsum=1',
  ])
    assert.equal(bestDigest(bad), undefined, bad);
});
