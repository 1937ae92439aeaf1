import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import {
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { smallDisk } from '../../../test/small-disk.ts';
import { snapshotFolder } from './settled-folder.ts';
import { isIntact, type CheckpointRecord } from './record.ts';
import { CheckpointStore, restoreGeneration, type Retention } from './store.ts';

const about = { attempt: 1, savedAt: '2026-01-01T00:00:00.000Z', code: 'c', position: {} };
const usual = { signal: new AbortController().signal, isLast: false, isUnchanged: () => true };

async function createStore(t: TestContext, keep: Retention) {
  const folder = await temporaryFolder(t, { 'work/old': 'x' });
  const work = path.join(folder, 'work');
  const store = new CheckpointStore(path.join(folder, 'store'), keep);
  const save = (text: string, options = usual): Promise<CheckpointRecord | undefined> => {
    writeFileSync(path.join(work, 'model'), text);
    return store.save(work, snapshotFolder(work), about, options);
  };
  const numbers = async (): Promise<number[]> =>
    (await store.generations()).filter(isIntact).map(({ record }) => record.number);
  return { folder, work, store, save, numbers };
}

const { signal } = usual;
const last = { ...usual, isLast: true };
const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex');
const hashOf = (record: CheckpointRecord | undefined): string | undefined =>
  record?.files.find(({ path: name }) => name === 'model')?.sha256;

test('a file that was read while the training ended is linked, unless it changed since', async (t) => {
  const { work, store } = await createStore(t, { generations: 3, bytes: Infinity });
  const model = path.join(work, 'model');
  const saveLast = async (): Promise<string | undefined> =>
    hashOf(await store.save(work, snapshotFolder(work), about, last));
  for (const text of ['1', '2']) {
    // As atomic writers do.
    writeFileSync(`${work}/../part`, text);
    renameSync(`${work}/../part`, model);
    await store.readAhead(work, snapshotFolder(work), signal);
    assert.equal(await saveLast(), sha256(text));
  }
  assert.equal(statSync(path.join(store.folder, '2/files/0000')).ino, statSync(model).ino);
  utimesSync(model, 1, 1);
  await store.readAhead(work, snapshotFolder(work), signal);
  writeFileSync(model, '3');
  assert.equal(await saveLast(), sha256('3'), 'written in place, with the same size');
});

test('where a file system notes whole seconds, a file is read after the training has ended', async (t) => {
  const { work, store } = await createStore(t, { generations: 3, bytes: Infinity });
  const state = { bytes: 1, inode: 1n, fingerprint: '1 1 1 5000000000 5000000000' };
  const snapshot = { files: new Map([['model', state]]), links: new Map<string, string>() };
  writeFileSync(path.join(work, 'model'), '1');
  await store.readAhead(work, snapshot, signal);
  writeFileSync(path.join(work, 'model'), '2');
  assert.equal(hashOf(await store.save(work, snapshot, about, last)), sha256('2'));
});

test('what was read ahead and then vanishes, or is on another disk, is saved as it is', async (t) => {
  const { folder, work, store, save } = await createStore(t, { generations: 3, bytes: Infinity });
  await store.readAhead(path.join(folder, 'gone'), snapshotFolder(work), signal).catch(() => undefined);
  assert.equal(hashOf(await save('1', last)), sha256('1'));
  const disk = await smallDisk(t);
  if (disk === undefined) return;
  const far = new CheckpointStore(path.join(disk, 'store'), { generations: 3, bytes: Infinity });
  writeFileSync(path.join(work, 'model'), '2');
  await far.readAhead(work, snapshotFolder(work), signal);
  assert.equal(hashOf(await far.save(work, snapshotFolder(work), about, last)), sha256('2'));
  writeFileSync(path.join(work, 'model'), Buffer.alloc(3e6));
  await far.readAhead(work, snapshotFolder(work), signal);
  await assert.rejects(far.save(work, snapshotFolder(work), about, last), /the previous checkpoint is kept/);
});

test('a save that is interrupted, or whose files change, leaves nothing, and earlier checkpoints stay', async (t) => {
  const { store, save, numbers } = await createStore(t, { generations: 3, bytes: Infinity });
  await save('1');
  assert.equal(await save('2', { ...usual, isUnchanged: () => false }), undefined);
  const stopped = AbortSignal.abort(new Error('out of time'));
  await assert.rejects(save('3', { ...usual, signal: stopped }), /out of time/);
  assert.deepEqual(await numbers(), [1]);
  assert.deepEqual(readdirSync(store.folder), ['1']);
  assert.equal((await save('4'))?.number, 2);
});

test('folder numbers wrap around: a pool that only adds files keeps at most one checkpoint too many', async (t) => {
  const { folder, store, save, numbers } = await createStore(t, { generations: 2, bytes: Infinity });
  const home = path.join(folder, 'access-point');
  for (let number = 1; number <= 7; number++) {
    await save(String(number));
    cpSync(store.folder, home, { recursive: true });
  }
  assert.deepEqual(await numbers(), [7, 6]);
  assert.equal(readdirSync(home).length, 3);
  const there = new CheckpointStore(home, { generations: 2, bytes: Infinity });
  assert.deepEqual(
    (await there.generations()).map((one) => (isIntact(one) ? one.record.number : one.damage)),
    [7, 6, 5],
  );
});

test('where checkpoints are transferred, older ones go when the total is too big, but never the last one', async (t) => {
  const { save, numbers } = await createStore(t, { generations: 3, bytes: 25 });
  for (const number of [1, 2, 3]) await save(`${number}`.repeat(10));
  assert.deepEqual(await numbers(), [3, 2]);
  await save('4'.repeat(100));
  assert.deepEqual(await numbers(), [4]);
});

test('a checkpoint is restored as it was saved, unless the attempt must end', async (t) => {
  const { folder, store, save } = await createStore(t, { generations: 3, bytes: Infinity });
  await save('1');
  const [saved] = (await store.generations()).filter(isIntact);
  assert.ok(saved !== undefined);
  const into = path.join(folder, 'into');
  mkdirSync(into);
  const stopped = AbortSignal.abort(new Error('out of time'));
  await assert.rejects(restoreGeneration(saved, into, stopped), /out of time/);
  assert.deepEqual(readdirSync(into), []);
  assert.equal(await restoreGeneration(saved, into, signal), undefined);
  assert.equal(readFileSync(path.join(into, 'model'), 'utf8'), '1');
});
