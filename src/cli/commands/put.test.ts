import assert from 'node:assert/strict';
import { createReadStream } from 'node:fs';
import { realpath, symlink } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { openedWithin } from './put.ts';

test('a file whose place, or whose folder, a link has taken since it was listed is not sent', async (t) => {
  const folder = await realpath(await temporaryFolder(t, { file: 'outside', 'within/mine': 'mine' }));
  const within = path.join(folder, 'within');
  await symlink('../file', path.join(within, 'linked'));
  await symlink('..', path.join(within, 'folder'));
  const check = async (name: string): Promise<void> => {
    const file = path.join(within, name);
    await openedWithin(file, within)(createReadStream(file));
  };
  await check('mine');
  for (const name of ['linked', 'folder/file'])
    await assert.rejects(check(name), { message: /leads to .*\/file, outside / });
});
