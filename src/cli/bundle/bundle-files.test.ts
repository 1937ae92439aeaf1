import assert from 'node:assert/strict';
import { symlink } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { runBundleFiles } from './bundle-files.ts';

test('a bundle of a run has nothing that a link in its folder leads to', async (t) => {
  const parent = await temporaryFolder(t, {
    'foreign/other.log': 'foreign',
    'run/journal.jsonl': '{}\n',
    'run/jobs/0000/out.log': 'mine',
  });
  const run = path.join(parent, 'run');
  await symlink('../foreign', path.join(run, 'linked'));
  await symlink('../../../foreign/other.log', path.join(run, 'jobs/0000/err.log'));
  await symlink('..', path.join(run, 'jobs/up'));
  const files = await runBundleFiles(run);
  assert.deepEqual(
    files.map(({ name }) => name),
    ['run/jobs/0000/out.log', 'run/journal.jsonl'],
  );
});
