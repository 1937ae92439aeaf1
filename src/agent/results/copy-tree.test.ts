import assert from 'node:assert/strict';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { copyTree } from './copy-tree.ts';

const { signal } = new AbortController();

function folders(t: TestContext): { from: string; to: string } {
  const base = mkdtempSync(path.join(os.tmpdir(), 'updraft-copy-'));
  t.after(() => rmSync(base, { recursive: true }));
  const [from, to] = [path.join(base, 'from'), path.join(base, 'to')];
  mkdirSync(from);
  mkdirSync(to);
  return { from, to };
}

test('a folder is copied with modes, times and hashes', async (t) => {
  const { from, to } = folders(t);
  mkdirSync(path.join(from, 'a/b'), { recursive: true });
  writeFileSync(path.join(from, 'a/b/run.sh'), 'true');
  chmodSync(path.join(from, 'a/b/run.sh'), 0o755);
  utimesSync(path.join(from, 'a/b/run.sh'), 1e9, 1e9);
  const copied: string[] = [];
  await copyTree('a', from, to, {
    signal,
    onCopied: (one) => copied.push(`${one.path} ${one.bytes} ${one.sha256}`),
  });
  assert.deepEqual(copied, ['a/b/run.sh 4 b5bea41b6c623f7c09f1bf24dcae58ebab3c0cdd90ad966bc43a45b44867e12b']);
  const { mode, mtimeMs } = statSync(path.join(to, 'a/b/run.sh'));
  assert.equal(mode & 0o777, 0o755);
  assert.equal(mtimeMs, 1e12);
});

test('links are replaced by their targets; links that lead out or back are refused', async (t) => {
  const { from, to } = folders(t);
  writeFileSync(path.join(from, 'best.pt'), 'x');
  symlinkSync('best.pt', path.join(from, 'latest.pt'));
  await copyTree('latest.pt', from, to, { signal, within: from });
  assert.equal(statSync(path.join(to, 'latest.pt')).isFile(), true);

  mkdirSync(path.join(from, 'out'));
  symlinkSync('/etc/hostname', path.join(from, 'out/name'));
  await assert.rejects(copyTree('out', from, to, { signal, within: from }), /outside the work folder/);

  mkdirSync(path.join(from, 'round'));
  symlinkSync('.', path.join(from, 'round/again'));
  await assert.rejects(copyTree('round', from, to, { signal, within: from }), /a folder that contains it/);
});

test('a copy can be stopped', async (t) => {
  const { from, to } = folders(t);
  writeFileSync(path.join(from, 'a'), 'x');
  await assert.rejects(copyTree('a', from, to, { signal: AbortSignal.abort(new Error('stop')) }), /stop/);
  assert.equal(existsSync(path.join(to, 'a')), false);
});
