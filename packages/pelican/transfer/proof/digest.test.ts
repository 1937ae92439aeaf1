import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { algorithms } from '../../federation/stat-object.ts';
import { systemClock } from '@updraft/base';
import { ConnectionPool } from '../../http/connections.ts';
import { readTrust } from '../../http/trust.ts';
import { testAuthority, webServer } from '../../../../test/federation/web-server.ts';
import type { Source } from '../engine/roster.ts';
import { askObject, bestDigest, hasher } from './digest.ts';

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

test('a server that refuses a token is asked for the digest once more with the newer one', async (t) => {
  const { url, host } = await webServer(t, ({ headers }, response) =>
    headers.authorization === 'Bearer new'
      ? response.writeHead(200, { Digest: 'crc32c=e3069283', 'Content-Length': 9 }).end()
      : response.writeHead(401).end(),
  );
  const pool = new ConnectionPool({ clock: systemClock, ca: readTrust({ SSL_CERT_FILE: testAuthority }) });
  t.after(() => pool.close());
  const server = { url: `${url}/x`, host, kind: 'cache' } as const;
  const ask = (renewed: string) => {
    const headers = (_: unknown, refused?: string) =>
      Promise.resolve({ Authorization: `Bearer ${refused === undefined ? 'old' : renewed}` });
    const located = { url, servers: [server], requireToken: true, headers };
    return askObject({ server, located } as unknown as Source, pool, 5000, new AbortController().signal);
  };
  assert.deepEqual((await ask('new'))?.digest, { algorithm: 'crc32c', hex: 'e3069283', server: host });
  assert.equal(await ask('old'), undefined);
});
