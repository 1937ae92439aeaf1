import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '../../fault.ts';
import { chunkRange, parseManifest } from './manifest.ts';

const hash = 'a'.repeat(64);
const good = { bytes: 10_000, chunkBytes: 4096, sha256: hash, chunks: [hash, hash, hash] };

test('a manifest is read, and its last chunk holds the remainder', () => {
  const manifest = parseManifest(JSON.stringify(good), 'm.json', 'sent');
  assert.deepEqual(manifest, good);
  assert.deepEqual(chunkRange(manifest, 2), { start: 8192, end: 10_000 });
});

test('an empty object has an empty list of chunks', () => {
  assert.deepEqual(
    parseManifest(JSON.stringify({ ...good, bytes: 0, chunks: [] }), 'm.json', 'sent').chunks,
    [],
  );
});

test('a key is used only if the manifest did not pass through caches', () => {
  const tag = 'b'.repeat(32);
  const keyed = { ...good, keyed: { key: tag, tags: [tag, tag, tag] } };
  assert.deepEqual(parseManifest(JSON.stringify(keyed), 'm.json', 'sent'), keyed);
  assert.deepEqual(parseManifest(JSON.stringify(keyed), 'm.json', 'fetched'), good);
});

test('an invalid manifest is refused with the field that is wrong', () => {
  const bad: [unknown, RegExp][] = [
    [null, /not an object/],
    [{ ...good, bytes: -1 }, /`bytes`/],
    [{ ...good, chunkBytes: 1 }, /`chunkBytes`/],
    [{ ...good, chunkBytes: 1e9 }, /`chunkBytes`/],
    [{ ...good, sha256: 'x' }, /`sha256`/],
    [{ ...good, chunks: [hash, 7, hash] }, /`chunks`/],
    [{ ...good, keyed: { key: 'x', tags: [] } }, /`keyed.key`/],
    [{ ...good, keyed: { key: 'c'.repeat(32), tags: [hash] } }, /`keyed.tags`/],
    [{ ...good, keyed: { key: 'c'.repeat(32), tags: [] } }, /0 tags for 3 chunks/],
    [{ ...good, chunks: [hash] }, /1 chunks where 10000 bytes make 3/],
  ];
  for (const [value, message] of bad)
    assert.throws(
      () => parseManifest(JSON.stringify(value), 'm.json', 'sent'),
      (error: Fault) => {
        assert.equal(error.kind, 'file-invalid');
        assert.match(error.message, /^m\.json/);
        assert.match(error.message, message);
        return true;
      },
    );
  assert.throws(() => parseManifest('{', 'm.json', 'sent'), Fault);
});
