import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { digestOf, type StoredObject, wantedDigests } from './stored-object.ts';

function objectOf(bytes: Buffer): StoredObject {
  return {
    size: bytes.length,
    etag: '"x"',
    modified: new Date(0),
    age: undefined,
    isCached: false,
    read: (buffer, position) => Promise.resolve(bytes.copy(buffer, 0, position)),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

test('digests match the bytes of small and big objects', async () => {
  for (const size of [0, 9, (1 << 20) + 1, (9 << 20) + 5]) {
    const bytes = randomBytes(size);
    const hash = (name: string): string => createHash(name).update(bytes).digest('base64');
    assert.equal(
      await digestOf(objectOf(bytes), ['md5', 'sha', 'sha-256']),
      `md5=${hash('md5')},sha=${hash('sha1')},sha-256=${hash('sha256')}`,
    );
  }
  assert.equal(await digestOf(objectOf(Buffer.from('123456789')), ['crc32c']), 'crc32c=e3069283');
});

test('an object that ends early has no digest, big or small', async () => {
  for (const size of [5, 9 << 20]) {
    const cut = { ...objectOf(Buffer.alloc(4)), size };
    await assert.rejects(digestOf(cut, ['md5']), /ended early/);
  }
});

test('Want-Digest is read by name, ignoring weights and unknown algorithms', () => {
  assert.deepEqual(wantedDigests('md5, CRC32C;q=0.5,unixsum, sha-256'), ['md5', 'crc32c', 'sha-256']);
  assert.deepEqual(wantedDigests(undefined), []);
});
