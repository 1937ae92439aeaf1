import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { openForWriting, SettledFolder } from './settled-folder.ts';

async function settled(t: Parameters<typeof temporaryFolder>[0]) {
  const folder = await temporaryFolder(t, { old: 'x' });
  const written = new Set<string>();
  const settledFolder = new SettledFolder(folder, () => written);
  const replace = (name: string, text: string): void => {
    writeFileSync(path.join(folder, `.${name}`), text);
    renameSync(path.join(folder, `.${name}`), path.join(folder, name));
  };
  return { folder, settledFolder, written, replace };
}

test('what was there at the start is not new; a new file counts once it is unchanged between two polls', async (t) => {
  const { settledFolder, replace } = await settled(t);
  assert.equal(settledFolder.poll(0), undefined);
  replace('model', '1');
  assert.equal(settledFolder.poll(1000), undefined);
  const snapshot = settledFolder.poll(2000);
  assert.deepEqual([...(snapshot?.files.keys() ?? [])], ['model', 'old']);
  settledFolder.markSaved(snapshot!);
  assert.equal(settledFolder.poll(3000), undefined);
});

test('a file that is open for writing is waited for, even if it does not change', async (t) => {
  const { settledFolder, written, replace } = await settled(t);
  replace('model', '1');
  written.add('model');
  for (const now of [0, 1000, 2000]) assert.equal(settledFolder.poll(now), undefined);
  written.clear();
  assert.ok(settledFolder.poll(3000));
});

test('a checkpoint that is replaced constantly is taken after a few seconds', async (t) => {
  const { settledFolder, replace } = await settled(t);
  for (const second of [0, 1, 2, 3, 4]) {
    replace('model', String(second));
    assert.equal(settledFolder.poll(second * 1000), undefined);
  }
  replace('model', '6');
  const snapshot = settledFolder.poll(6000);
  assert.ok(snapshot);
  replace('model', '7');
  assert.equal(settledFolder.isUnchanged(snapshot), true);
  settledFolder.markSaved(snapshot);
  assert.equal(settledFolder.poll(7000), undefined);
});

test('a log that never stops growing delays a checkpoint by a minute at most', async (t) => {
  const { folder, settledFolder, replace } = await settled(t);
  replace('model', '1');
  for (let second = 0; second < 60; second++) {
    appendFileSync(path.join(folder, 'log'), 'line\n');
    assert.equal(settledFolder.poll(second * 1000), undefined);
  }
  appendFileSync(path.join(folder, 'log'), 'line\n');
  assert.ok(settledFolder.poll(60_000));
});

test('a change during the copy is noticed, and an emptied folder is not saved', async (t) => {
  const { folder, settledFolder, replace } = await settled(t);
  mkdirSync(path.join(folder, 'deep'));
  writeFileSync(path.join(folder, 'deep/model'), '1');
  settledFolder.poll(0);
  const snapshot = settledFolder.poll(1000);
  assert.ok(snapshot);
  assert.ok(snapshot.files.has('deep/model'));
  replace('optimizer', '1');
  assert.equal(settledFolder.isUnchanged(snapshot), false);
  for (const name of ['old', 'deep', 'optimizer']) rmSync(path.join(folder, name), { recursive: true });
  settledFolder.poll(2000);
  assert.equal(settledFolder.poll(3000), undefined);
  assert.equal(settledFolder.unsavedSnapshot(), undefined);
});

/** Maps a file and closes it; what it writes to the memory changes no time of the file. */
const mapping = `
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for name, kind in (("shared", 1), ("private", 2)):
    file = os.open(name, os.O_RDWR)
    assert libc.mmap(None, 1, 3, kind, file, 0) not in (None, 2**64 - 1)
    os.close(file)
print("mapped", flush=True)
sys.stdin.read()
`;

test('a file that a process has mapped counts as open for writing', async (t) => {
  const folder = await temporaryFolder(t, { shared: 'x', private: 'x' });
  const child = spawn('python3', ['-c', mapping], { cwd: folder, stdio: ['pipe', 'pipe', 'inherit'] });
  t.after(() => child.kill());
  await once(child.stdout, 'data');
  assert.deepEqual([...openForWriting([child.pid ?? 0], folder)], ['shared']);
});
