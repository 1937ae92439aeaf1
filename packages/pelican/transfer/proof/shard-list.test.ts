import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { parseShardList, shardListText } from './manifest.ts';

const sha256 = createHash('sha256').update('x').digest('hex');
const manifest = { bytes: 1, chunkBytes: 4 << 20, sha256, chunks: [sha256] };

const read = (name: string, files = 1) =>
  parseShardList(shardListText([{ name, files, manifest }]), 'a list', 'fetched');

test('a list names files beside it, and nothing elsewhere', () => {
  for (const name of ['set-0001.tar', '...', 'with space %2F'])
    assert.deepEqual(read(name), [{ name, files: 1, manifest }]);
  for (const name of ['', '.', '..', '../../etc/passwd', '/etc/passwd', 'https://example.org/x.tar', 'a\0b'])
    assert.throws(() => read(name), /a list is not a list of shards/, name);
  assert.throws(() => read('set-0001.tar', -1), /not a list of shards/);
});
