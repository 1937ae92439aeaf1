import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { removeTree } from './remove-tree.ts';

test('removes read-only folders, follows no link, and counts files and bytes', async (t) => {
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
  assert.deepEqual(await removeTree(tree), { files: 2, bytes: 5 + precious.length });
  assert.equal(existsSync(tree), false);
  assert.equal(existsSync(path.join(precious, 'file')), true);
});

test('a link in place of the tree is removed, and nothing that it leads to', async (t) => {
  const base = mkdtempSync(path.join(os.tmpdir(), 'updraft-remove-'));
  t.after(() => rmSync(base, { recursive: true, force: true }));
  mkdirSync(path.join(base, 'precious'), { mode: 0o750 });
  writeFileSync(path.join(base, 'precious', 'file'), 'kept');
  const link = path.join(base, 'link');
  symlinkSync('precious', link);
  assert.deepEqual(await removeTree(link), { files: 1, bytes: 'precious'.length });
  assert.deepEqual(readdirSync(base), ['precious']);
  assert.deepEqual(readdirSync(path.join(base, 'precious')), ['file']);
  assert.equal(statSync(path.join(base, 'precious')).mode & 0o777, 0o750);
});

test('a tree that does not exist is no error', async () => {
  const nothing = { files: 0, bytes: 0 };
  assert.deepEqual(await removeTree(path.join(os.tmpdir(), 'updraft-never-made')), nothing);
});

test('removing many files reports progress and can be stopped', async (t) => {
  const base = mkdtempSync(path.join(os.tmpdir(), 'updraft-remove-'));
  t.after(() => rmSync(base, { recursive: true, force: true }));
  for (let file = 0; file < 200; file++) writeFileSync(path.join(base, String(file)), 'x');
  const stop = new AbortController();
  let seen = 0;
  const onProgress = ({ files }: { files: number }): void => {
    seen = files;
    setImmediate(() => stop.abort(new Error('enough')));
  };
  await assert.rejects(removeTree(base, { signal: stop.signal, onProgress }), /enough/);
  assert.ok(seen > 0 && seen < 200, String(seen));
  assert.equal(readdirSync(base).length, 200 - seen);
});

const namespace = ['--user', '--map-root-user', '--mount'];
const canMount = spawnSync('unshare', [...namespace, 'true']).status === 0;

test(
  'nothing is removed that is mounted in the tree, and everything beside it is',
  { skip: canMount ? false : 'no user namespaces to mount in' },
  async (t) => {
    const base = mkdtempSync(path.join(os.tmpdir(), 'updraft-remove-'));
    t.after(() => rmSync(base, { recursive: true, force: true }));
    const [precious, tree] = [path.join(base, 'precious'), path.join(base, 'a tree')];
    mkdirSync(path.join(precious, 'deep'), { recursive: true });
    writeFileSync(path.join(precious, 'deep/file'), 'kept');
    mkdirSync(path.join(tree, 'a/mount point'), { recursive: true });
    writeFileSync(path.join(tree, 'a/file'), 'x');
    const code = `
      import { removeTree } from ${JSON.stringify(path.join(import.meta.dirname, 'remove-tree.ts'))};
      await removeTree(process.env.TREE).catch((error) => console.log(error.message));`;
    const program = path.join(base, 'remove.ts');
    writeFileSync(program, code);
    const script = 'mount --bind "$BASE/precious" "$TREE/a/mount point" && exec "$0" "$@"';
    const { stdout, stderr } = spawnSync(
      'unshare',
      [...namespace, 'sh', '-c', script, process.execPath, program],
      { encoding: 'utf8', env: { ...process.env, BASE: base, TREE: tree } },
    );
    assert.match(stdout, /something is mounted at .*a tree\/a\/mount point: unmount it first/, stderr);
    assert.equal(existsSync(path.join(precious, 'deep/file')), true);
    assert.equal(existsSync(path.join(tree, 'a/file')), false);
    // Unmounted with the namespace.
    await removeTree(tree);
    assert.equal(existsSync(tree), false);
  },
);
