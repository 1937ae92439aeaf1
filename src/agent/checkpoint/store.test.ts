import assert from 'node:assert/strict';
import { cpSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { snapshotFolder } from './settled-folder.ts';
import { isIntact, type CheckpointRecord } from './record.ts';
import { CheckpointStore, type Retention } from './store.ts';

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
  return { folder, store, save, numbers };
}

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
