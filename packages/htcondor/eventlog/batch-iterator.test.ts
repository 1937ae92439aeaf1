import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BatchIterator } from './read-event-log.ts';

interface Item {
  n: number;
}

/** Batches of these sizes, of items numbered from 0; `ended` is set when the source was closed. */
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

test('items come in order for any batches, and end once', async () => {
  const { items } = lots(2, 0, 0, 3, 0);
  const seen = [];
  for await (const { n } of items) seen.push(n);
  assert.deepEqual(seen, [0, 1, 2, 3, 4]);
  assert.deepEqual(await items.next(), { done: true, value: undefined });
});

test('concurrent requests get an item each', async () => {
  const { items } = lots(2, 2);
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => items.next()));
  const numbers = answers.map(({ value }) => value?.n);
  assert.deepEqual([...numbers].sort(), [0, 1, 2, 3, undefined]);
});

test('stopping early closes the source', async () => {
  const { items, log } = lots(3, 3);
  for await (const { n } of items) if (n === 1) break;
  assert.equal(log.ended, true);
  assert.deepEqual(await items.next(), { done: true, value: undefined });
});

test('an error comes once, after the items before it', async () => {
  const { items } = lots(1, -1, 1);
  assert.deepEqual(await items.next(), { done: false, value: { n: 0 } });
  await assert.rejects(items.next(), /broken/);
  assert.deepEqual(await items.next(), { done: true, value: undefined });
});
