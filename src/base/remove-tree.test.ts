import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { removeTree } from './remove-tree.ts';

test('removes read-only folders, follows no link, and tells the bytes', (t) => {
  const base = mkdtempSync(path.join(os.tmpdir(), 'updraft-remove-'));
  t.after(() => rmSync(base, { recursive: true, force: true }));
  const precious = path.join(base, 'precious');
  mkdirSync(precious);
  writeFileSync(path.join(precious, 'file'), 'kept');
  const tree = path.join(base, 'tree');
  mkdirSync(path.join(tree, 'a', 'b'), { recursive: true });
  writeFileSync(path.join(tree, 'a', 'b', 'file'), '12345');
  symlinkSync(precious, path.join(tree, 'a', 'link'));
  chmodSync(path.join(tree, 'a', 'b', 'file'), 0o000);
  chmodSync(path.join(tree, 'a', 'b'), 0o500);
  chmodSync(path.join(tree, 'a'), 0o500);
  assert.equal(removeTree(tree), 5 + precious.length);
  assert.equal(existsSync(tree), false);
  assert.equal(existsSync(path.join(precious, 'file')), true);
});

test('a tree that is gone already is no error', () => {
  assert.equal(removeTree(path.join(os.tmpdir(), 'updraft-never-made')), 0);
});
