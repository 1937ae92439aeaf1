import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchIterator } from './batch-iterator.ts';

interface Item {
  n: number;
}

/** Lots of these sizes, of items numbered from 0; `ended` tells that the last word was said. */
function lots(...sizes: number[]) {
  const log = { ended: false };
  async function* make(): AsyncGenerator<Item[], void, void> {
    let n = 0;
    try {
      for (const size of sizes) {
        if (size < 0) throw new Error('broken');
        yield await Promise.resolve(Array.from({ length: size }, () => ({ n: n++ })));
      }
    } finally {
      log.ended = true;
    }
  }
  return { log, items: new BatchIterator(make()) };
}

test('items come in order, whatever the lots are, and end once', async () => {
  const { items } = lots(2, 0, 0, 3, 0);
  const seen = [];
  for await (const { n } of items) seen.push(n);
  assert.deepEqual(seen, [0, 1, 2, 3, 4]);
  assert.deepEqual(await items.next(), { done: true, value: undefined });
});

test('several who ask at once get an item each', async () => {
  const { items } = lots(2, 2);
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => items.next()));
  const numbers = answers.map(({ value }) => value?.n);
  assert.deepEqual([...numbers].sort(), [0, 1, 2, 3, undefined]);
});

test('whoever stops early ends what makes the lots', async () => {
  const { items, log } = lots(3, 3);
  for await (const { n } of items) if (n === 1) break;
  assert.equal(log.ended, true);
  assert.deepEqual(await items.next(), { done: true, value: undefined });
});

test('a failure comes after the items before it, once', async () => {
  const { items } = lots(1, -1, 1);
  assert.deepEqual(await items.next(), { done: false, value: { n: 0 } });
  await assert.rejects(items.next(), /broken/);
  assert.deepEqual(await items.next(), { done: true, value: undefined });
});
