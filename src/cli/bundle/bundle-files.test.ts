import assert from 'node:assert/strict';
import { symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { runBundleFiles } from './bundle-files.ts';

test("a bundle has the job file beside a run, and no other file that a stranger's plan names", async (t) => {
  const parent = await temporaryFolder(t, {
    'key.toml': 'private',
    'a/job.toml': 'mine',
    'a/runs/r/out.log': '',
  });
  const run = path.join(parent, 'a/runs/r');
  await symlink('../key.toml', path.join(parent, 'a/link.toml'));
  const packed = async (file: string): Promise<string[]> => {
    await writeFile(path.join(run, 'plan.json'), JSON.stringify({ file: path.join(parent, file) }));
    return (await runBundleFiles(run)).map(({ name }) => name);
  };
  const own = ['run/out.log', 'run/plan.json'];
  assert.deepEqual(await packed('a/job.toml'), ['job.toml', ...own]);
  assert.deepEqual(await packed('key.toml'), own);
  assert.deepEqual(await packed('a/link.toml'), own);
});
