import assert from 'node:assert/strict';
import { test } from 'node:test';
import { blockBytes, nextShards, type ShardsNow } from './shard-stream.ts';

const next = (now: Partial<ShardsNow> = {}) =>
  nextShards({
    bytes: Array.from({ length: 12 }, () => 1),
    keep: 4,
    order: [],
    block: 1,
    present: new Set(),
    arriving: new Set(),
    lanes: 2,
    ...now,
  });

const range = (from: number, to: number): number[] => Array.from({ length: to - from }, (_, at) => from + at);

test('shards are brought in the order of their use, as many at a time as there are lanes', () => {
  const order = [7, 3, 5, 1];
  assert.deepEqual(next({ order }), { bring: [7, 3], remove: [], isAwaited: true });
  assert.deepEqual(next({ order, arriving: new Set([7, 3]) }).bring, []);
  assert.deepEqual(next({ order, present: new Set([7]), arriving: new Set([3]) }), {
    bring: [5],
    remove: [],
    isAwaited: false,
  });
  assert.deepEqual(
    next({ order, block: 2, present: new Set([7]) }).isAwaited,
    true,
    'a block is used together',
  );
});

test('for the next two blocks goes what is used furthest in the future', () => {
  const order = [4, 5, 2, 0, 3, 1];
  const present = new Set([0, 1, 2, 3]);
  assert.deepEqual(next({ order, present }), { bring: [4, 5], remove: [1, 3], isAwaited: true });
  assert.deepEqual(next({ order: [4, 2, 0, 3], present, lanes: 1 }).remove, [1], 'never used again');
});

test('what is used later than the next two blocks only fills free space', () => {
  const order = [0, 1, 2, 3, 4, 5];
  assert.deepEqual(next({ order, present: new Set([0, 1, 7, 8]) }), {
    bring: [],
    remove: [],
    isAwaited: false,
  });
  assert.deepEqual(next({ order, present: new Set([0, 1, 7]) }).bring, [2]);
});

test('nothing of the next two blocks is removed, even if nothing else can come', () => {
  const now = { order: [0, 1, 2, 3, 4], block: 4, present: new Set([0, 1, 2]), bytes: [2, 1, 1, 1, 1] };
  assert.deepEqual(next(now), { bring: [], remove: [], isAwaited: true });
});

test('a transfer that is not needed soon ends for one that is', () => {
  const now = { order: [5, 6, 0, 1], arriving: new Set([0, 1]) };
  assert.deepEqual(next(now), { bring: [5, 6], remove: [1, 0], isAwaited: true });
  assert.deepEqual(next({ ...now, arriving: new Set([5, 1]) }), { bring: [6], remove: [1], isAwaited: true });
  assert.deepEqual(next({ ...now, arriving: new Set([5, 6]) }).remove, []);
});

test('of a training that ends, only the next two blocks stay or come', () => {
  const now = { order: [4, 5, 2, 0, 3], keep: 9, lanes: 9, isEnding: true };
  const { bring, remove } = next({ ...now, present: new Set([0, 1, 4]), arriving: new Set([3]) });
  assert.deepEqual([bring, remove.toSorted()], [[5], [0, 1, 3]]);
});

test('without a wish, shards come in the order of the list, and none goes', () => {
  const now = { order: range(0, 12), block: 0 };
  assert.deepEqual(next(now).bring, [0, 1]);
  assert.deepEqual(next({ ...now, present: new Set(range(0, 4)) }), {
    bring: [],
    remove: [],
    isAwaited: false,
  });
});

test('a block is as large as its shards', () => {
  assert.equal(blockBytes({ bytes: [1, 2, 4], order: [2, 1, 0], block: 2 }), 6);
  assert.equal(
    blockBytes({ bytes: [1, 2], order: [0, 1, 0], block: 3 }),
    3,
    'one that comes twice counts once',
  );
});

test('over two epochs of three times the budget, every block comes, and a part of the data is reused', () => {
  const shards = 60;
  const [keep, block] = [20, 4];
  const shuffled = (seed: number): number[] =>
    range(0, shards).sort((a, b) => ((a * 37 + seed) % 61) - ((b * 37 + seed) % 61));
  const epochs = [shuffled(5), shuffled(23), shuffled(40)];
  const present = new Set<number>();
  let fetched = 0;
  for (const epoch of [0, 1])
    for (let at = 0; at < shards; at += block) {
      const order = [...(epochs[epoch] ?? []), ...(epochs[epoch + 1] ?? [])].slice(at);
      for (;;) {
        const { bring, remove } = next({
          bytes: range(0, shards).map(() => 1),
          keep,
          block,
          order,
          present,
          lanes: 4,
        });
        for (const shard of remove) present.delete(shard);
        for (const shard of bring) present.add(shard);
        fetched += bring.length;
        if (bring.length === 0) break;
      }
      assert.ok(present.size <= keep);
      assert.ok(order.slice(0, block).every((shard) => present.has(shard)));
    }
  assert.ok(fetched < 2 * shards - keep / 2, `${fetched} of ${2 * shards}`);
});
