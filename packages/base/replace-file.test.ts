import assert from 'node:assert/strict';
import { lstat, open, readdir, readFile, symlink } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { appendHere, replaceFile } from './replace-file.ts';

test('a file takes the place of a link, and what the link leads to stays', async (t) => {
  const folder = await temporaryFolder(t, { precious: 'kept' });
  const file = path.join(folder, 'file');
  for (const target of ['precious', 'nowhere']) {
    await symlink(target, `${file}-${target}`);
    await replaceFile(`${file}-${target}`, target, { mode: 0o750 });
    assert.equal(await readFile(`${file}-${target}`, 'utf8'), target);
    assert.equal((await lstat(`${file}-${target}`)).mode & 0o777, 0o750);
  }
  assert.deepEqual((await readdir(folder)).sort(), ['file-nowhere', 'file-precious', 'precious']);
  assert.equal(await readFile(path.join(folder, 'precious'), 'utf8'), 'kept');
});

test('what cannot be replaced leaves no draft', async (t) => {
  const folder = await temporaryFolder(t, { 'taken/file': '' });
  await assert.rejects(replaceFile(path.join(folder, 'taken'), 'x'));
  assert.deepEqual(await readdir(folder), ['taken']);
});

test('nothing is appended through a link', async (t) => {
  const folder = await temporaryFolder(t, { precious: 'kept' });
  await symlink('precious', path.join(folder, 'link'));
  await assert.rejects(open(path.join(folder, 'link'), appendHere, 0o600), { code: 'ELOOP' });
});
