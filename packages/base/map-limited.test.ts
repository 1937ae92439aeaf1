import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mapLimited } from './map-limited.ts';

test('results keep the order of the items, and no more than the limit run at once', async () => {
  let [now, max] = [0, 0];
  const results = await mapLimited([5, 1, 4, 2, 3], 2, async (item) => {
    max = Math.max(max, ++now);
    for (let turn = 0; turn < item; turn++) await Promise.resolve();
    now--;
    return item * 10;
  });
  assert.deepEqual(results, [50, 10, 40, 20, 30]);
  assert.equal(max, 2);
});

test('one failure rejects the whole', async () => {
  const work = (item: number) => (item === 2 ? Promise.reject(new Error('two')) : Promise.resolve(item));
  await assert.rejects(mapLimited([1, 2, 3], 1, work), { message: 'two' });
});
