import assert from 'node:assert/strict';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@updraft/base';
import { identifySelf, withLease } from '@updraft/base/processes';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { rootFolder } from './root-folder.ts';

test('who asks for a root folder that another process builds waits for it', async (t) => {
  const cacheFolder = await temporaryFolder(t);
  const aborted = AbortSignal.abort(new Error('not now'));
  await assert.rejects(rootFolder({ cacheFolder, say: () => undefined, signal: aborted }));
  const [lease = ''] = await readdir(cacheFolder);
  const folder = path.join(cacheFolder, lease.replace(/\.lease$/, ''));
  const self = identifySelf();
  assert.ok(self !== undefined);

  const waits = Promise.withResolvers<string>();
  let asked: Promise<string> | undefined;
  await withLease(path.join(cacheFolder, lease), self, systemClock, async () => {
    asked = rootFolder({ cacheFolder, say: waits.resolve, signal: t.signal });
    assert.match(await waits.promise, /another process builds/);
    await mkdir(folder);
  });
  assert.equal(await asked, folder);
});
