import assert from 'node:assert/strict';
import { utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { describeFolder } from './folder.ts';
import { writeShard } from './shards.ts';

const watch = { signal: new AbortController().signal, onBytes: () => undefined };

test('a file that is rewritten after it was listed is not packed, even at the same size', async (t) => {
  const folder = await temporaryFolder(t, { 'set/a': 'old', 'set/b': 'old' });
  const { shard } = await describeFolder(path.join(folder, 'set'));
  const archive = path.join(folder, 'set.tar');
  await writeShard(shard, archive, watch);
  await writeFile(path.join(folder, 'set/b'), 'new');
  await utimes(path.join(folder, 'set/b'), 1, 1);
  await assert.rejects(writeShard(shard, archive, watch), /set\/b changed while it was being packed/);
});
