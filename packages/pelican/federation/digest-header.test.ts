import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseDigestHeader } from './stat-object.ts';

test('checksums are read in hex with or without leading zeros, hashes in base64 or hex', () => {
  assert.deepEqual(
    parseDigestHeader('crc32c=77b8112,md5=XUFAKrxLKna5cZ2REBfFkg==,sha=qvTGHdzF6KLavt4PO0gs2a6pQ00='),
    {
      crc32c: '077b8112',
      md5: '5d41402abc4b2a76b9719d911017c592',
      sha1: 'aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d',
    },
  );
  assert.deepEqual(parseDigestHeader('MD5=5D41402ABC4B2A76B9719D911017C592, adler32=062C0215'), {
    md5: '5d41402abc4b2a76b9719d911017c592',
    adler32: '062c0215',
  });
  assert.deepEqual(
    parseDigestHeader('crc32c=B3uBEg=='),
    { crc32c: '077b8112' },
    'as old XRootD servers write it',
  );
});

test('a value that does not match its label is dropped', () => {
  for (const header of [
    'crc32c=5d41402abc4b2a76b9719d911017c592',
    'md5=77b8112',
    'sha-256=x',
    'unknown=1',
    'crc32=363a3020',
    'crc32c',
    '=',
    '',
    undefined,
  ])
    assert.deepEqual(parseDigestHeader(header), {});
});
