import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { ObjectHarness } from './object-harness.ts';

test('a download of a folder does not write through a link in its target', async (t) => {
  const harness = await ObjectHarness.open(t);
  for (const name of ['a', 'deep/link/b', 'deep/c']) await harness.publish(`demo/all/${name}`, name);
  await mkdir(harness.at('side/deep'), { recursive: true });
  await mkdir(harness.at('outside'));
  await symlink('../../outside', harness.at('side/deep/link'));
  // The name that the user writes may be a link.
  await symlink('side', harness.at('top'));
  const words = ['get', '-r', 'osdf:///demo/all', 'top', '--overwrite'];
  const said = await harness.updraft(words);
  assert.equal(said.exit, 2, said.err);
  assert.match(said.err, /top\/deep\/link is a link to .*\/outside: nothing is written through it/);
  assert.deepEqual(await readdir(harness.at('outside')), []);
  assert.deepEqual(await readdir(harness.at('side')), ['deep']);
  // A folder that is named only by the URL is in the folder that the user named.
  await symlink('outside', harness.at('all'));
  for (const target of [[], ['./'], ['--into', '.']]) {
    const unnamed = await harness.updraft(['get', '-r', 'osdf:///demo/all', ...target]);
    assert.equal(unnamed.exit, 2, unnamed.err);
    assert.match(unnamed.err, /\/all is a link to .*\/outside: nothing is written through it/);
  }
  assert.deepEqual(await readdir(harness.at('outside')), []);
  const named = await harness.updraft(['get', '-r', 'osdf:///demo/all', 'all']);
  assert.equal(named.exit, 0, named.err);
  assert.deepEqual((await readdir(harness.at('outside'))).sort(), ['a', 'deep']);
});

test('a file that is a link is replaced, and not what it leads to', async (t) => {
  const harness = await ObjectHarness.open(t);
  for (const name of ['same', 'other']) await harness.publish(`demo/all/${name}`, name);
  await mkdir(harness.at('side'));
  await writeFile(harness.at('same'), 'same');
  await writeFile(harness.at('precious'), 'precious');
  await symlink('../same', harness.at('side/same'));
  await symlink('../precious', harness.at('side/other'));
  const words = ['get', '-r', 'osdf:///demo/all', 'side'];
  const refused = await harness.updraft(words);
  assert.match(refused.err, /side\/other exists and is not/);
  const done = await harness.updraft([...words, '--overwrite']);
  assert.match(done.err, /^1 fetched, 1 already here\n$/m, done.err);
  assert.equal(await readFile(harness.at('side/other'), 'utf8'), 'other');
  assert.equal(await readFile(harness.at('precious'), 'utf8'), 'precious');
});
