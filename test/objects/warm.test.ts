import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ObjectBench } from './object-bench.ts';

const lines = (out: string): Record<string, unknown>[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test('caches are filled before jobs ask, at the origin’s cost alone, and those that have it are left alone', async (t) => {
  const bench = await ObjectBench.open(t, { caches: 4 });
  await bench.publish('demo/train set.tar', 5_000_000);
  const url = 'osdf:///demo/train set.tar';
  const dry = await bench.updraft(['warm', '--dry-run', url]);
  assert.match(
    dry.err,
    /15 MB will be pulled from the origin into 3 caches; none of it comes to this machine/,
  );
  assert.equal(dry.out.match(/does not have all of it, 5 MB$/gm)?.length, 3, dry.out);
  const first = await bench.updraft(['warm', '--json', url]);
  assert.equal(first.exit, 0, first.out);
  assert.deepEqual(
    lines(first.out).map(({ outcome, bytes, verified }) => [outcome, bytes, verified]),
    Array(3).fill(['filled', 5_000_000, 'size']),
  );
  const count = (server: string): number =>
    bench.federation.counters.server(server).objects['/demo/train set.tar']?.bytes ?? 0;
  assert.equal(count('origin'), 15_000_000);
  assert.equal(count('cache-1'), 0);
  const again = await bench.updraft(['warm', '--caches', '2', url]);
  assert.equal(again.exit, 0, again.err);
  assert.match(again.err, /every cache has it: nothing to do/);
  assert.equal(again.out.match(/: had it, 5 MB$/gm)?.length, 2, again.out);
  assert.equal(count('origin'), 15_000_000);
});
