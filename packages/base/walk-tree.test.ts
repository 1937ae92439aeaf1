import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { removeTree } from './remove-tree.ts';
import { walkFiles, walkTree } from './walk-tree.ts';

/** `side`, a folder with links of every kind, beside `outside`, which they lead to. */
function treeWithLinks(t: TestContext): { side: string; outside: string; top: string } {
  const root = mkdtempSync(path.join(os.tmpdir(), 'updraft-walk-'));
  t.after(() => rmSync(root, { recursive: true, force: true }));
  const [side, outside, top] = ['side', 'outside', 'top'].map((name) => path.join(root, name)) as [
    string,
    string,
    string,
  ];
  mkdirSync(path.join(side, 'b/deep'), { recursive: true });
  mkdirSync(outside);
  for (const file of ['side/a', 'side/b/deep/c', 'side/z', 'outside/o'])
    writeFileSync(path.join(root, file), file);
  symlinkSync('../outside', path.join(side, 'to-folder'));
  symlinkSync('../outside/o', path.join(side, 'to-file'));
  symlinkSync('a', path.join(side, 'to-own-file'));
  symlinkSync('nowhere', path.join(side, 'dangling'));
  symlinkSync('..', path.join(side, 'b/loop'));
  symlinkSync('side', top);
  execFileSync('mkfifo', [path.join(side, 'pipe')]);
  return { side, outside, top };
}

test('a walk names everything below a folder, and follows no link', async (t) => {
  const { side } = treeWithLinks(t);
  assert.deepEqual(
    (await walkTree(side)).map(({ name, kind }) => `${name} ${kind}`),
    [
      'a file',
      'b folder',
      'b/deep folder',
      'b/deep/c file',
      'b/loop link',
      'dangling link',
      'pipe other',
      'to-file link',
      'to-folder link',
      'to-own-file link',
      'z file',
    ],
  );
  assert.deepEqual(await walkFiles(side), ['a', 'b/deep/c', 'z']);
});

test('a link that is the walked folder itself is followed', async (t) => {
  const { top } = treeWithLinks(t);
  assert.deepEqual(await walkFiles(top), ['a', 'b/deep/c', 'z']);
});

test('a folder that is missing, or a file, is an error and not an empty folder', async (t) => {
  const { side } = treeWithLinks(t);
  await assert.rejects(walkTree(path.join(side, 'none')), { code: 'ENOENT' });
  await assert.rejects(walkTree(path.join(side, 'a')), { code: 'ENOTDIR' });
});

test('removing a tree removes its links, and nothing that they lead to', async (t) => {
  const { side, outside } = treeWithLinks(t);
  await removeTree(side);
  assert.equal(readFileSync(path.join(outside, 'o'), 'utf8'), 'outside/o');
  await assert.rejects(walkTree(side), { code: 'ENOENT' });
});

test('a folder with a name that is not UTF-8 is an error, and not taken for one that has disappeared', async (t) => {
  const { side } = treeWithLinks(t);
  mkdirSync(Buffer.concat([Buffer.from(`${side}/b/folder-`), Buffer.from([0xe9])]));
  await assert.rejects(walkTree(side), { code: 'ENOENT' });
});
