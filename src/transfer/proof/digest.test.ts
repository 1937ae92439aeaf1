import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { algorithms } from '../../federation/digest-header.ts';
import { bestDigest, hasher } from './digest.ts';

test('digests have their published values', () => {
  const expected = {
    'sha-256': '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225',
    sha: 'f7c3bc1d808e04732adf679965ccc34ca7ae3441',
    crc32c: 'e3069283',
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

test('of the digests offered, the cheapest one that finds damage is used', () => {
  const md5 = Buffer.from('25f9e794323b453885f5181f1b624d0b', 'hex').toString('base64');
  assert.deepEqual(bestDigest(`md5=${md5}, crc32c=e3069283`), { algorithm: 'crc32c', hex: 'e3069283' });
  const sha = createHash('sha256').update('123456789').digest('base64');
  assert.equal(
    bestDigest(`sha-256=${sha}, md5=${md5}, crc32c=e3069283, adler32=091e01de`)?.algorithm,
    'crc32c',
  );
  assert.equal(bestDigest(`adler32=091e01de, md5=${md5}, sha-256=${sha}`)?.algorithm, 'sha-256');
  assert.equal(bestDigest('adler32=091e01de')?.algorithm, 'adler32');
  assert.deepEqual(bestDigest(`MD5=${md5}`), { algorithm: 'md5', hex: '25f9e794323b453885f5181f1b624d0b' });
});

test('checksums without leading zeros or in base64 are understood, mislabelled ones ignored', () => {
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
