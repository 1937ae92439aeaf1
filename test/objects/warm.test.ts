import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fastClock } from '../fast-clock.ts';
import { ObjectHarness } from './object-harness.ts';

const lines = (out: string): Record<string, unknown>[] =>
  out
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>);

test('caches are filled before jobs ask, at the cost of the origin alone, and those that have the object are left alone', async (t) => {
  const harness = await ObjectHarness.open(t, { caches: 4 });
  await harness.publish('demo/train set.tar', 5_000_000);
  const url = 'osdf:///demo/train set.tar';
  const dry = await harness.updraft(['warm', '--dry-run', url]);
  assert.match(
    dry.err,
    /15 MB will be pulled from the origin into 3 caches; no data passes through this machine/,
  );
  assert.equal(dry.out.match(/does not have all of it, 5 MB$/gm)?.length, 3, dry.out);
  const first = await harness.updraft(['warm', '--json', url]);
  assert.equal(first.exit, 0, first.out);
  assert.deepEqual(
    lines(first.out).map(({ outcome, bytes, verified }) => [outcome, bytes, verified]),
    Array(3).fill(['filled', 5_000_000, 'size']),
  );
  const count = (server: string): number =>
    harness.federation.counters.server(server).objects['/demo/train set.tar']?.bytes ?? 0;
  assert.equal(count('origin'), 15_000_000);
  assert.equal(count('cache-1'), 0);
  const again = await harness.updraft(['warm', '--caches', '2', url]);
  assert.equal(again.exit, 0, again.err);
  assert.match(again.err, /every cache already has it: nothing to do/);
  assert.equal(again.out.match(/: had it, 5 MB$/gm)?.length, 2, again.out);
  assert.equal(count('origin'), 15_000_000);
});

for (const like of ['pelican-go', 'xrootd'] as const)
  test(`caches like ${like} are filled once, with one whole request each to the origin`, async (t) => {
    const harness = await ObjectHarness.open(t, { caches: 2, like });
    await harness.publish('demo/a+b.tar', 3_000_000);
    const url = 'osdf:///demo/a+b.tar';
    const [one, two] = harness.federation.caches.map(({ url: at }) => new URL(at).host);
    const named = await harness.updraft(['warm', '--json', '--cache', two ?? '', url]);
    assert.deepEqual(
      lines(named.out).map(({ cache, outcome, bytes }) => [cache, outcome, bytes]),
      [[two, 'filled', 3_000_000]],
    );
    // Servers unescape this name differently: the bytes come here, and the cost says so.
    const rest = await harness.updraft(['warm', url]);
    assert.equal(rest.exit, 0, rest.err);
    assert.match(rest.err, /of it passes through this machine/);
    assert.match(rest.out, new RegExp(`${one ?? ''}: filled, 3 MB`));
    // An older XRootD does not report what it has.
    assert.match(rest.out, new RegExp(`${two ?? ''}: ${like === 'xrootd' ? 'filled' : 'had it'}, 3 MB`));
    assert.equal(harness.federation.counters.server('origin').bytes, 6_000_000);
  });

test('objects that cannot be warmed are reported, and the rest is warmed', async (t) => {
  const harness = await ObjectHarness.open(t);
  await harness.publish('demo/set/a', 'a');
  await harness.publish('demo/set/b', 'b');
  const expected: [string[], number, RegExp][] = [
    [['osdf:///demo/none'], 96, /is not there/],
    [['osdf:///demo/set'], 97, /updraft warm --recursive osdf:\/\/\/demo\/set/],
    [['https://localhost/x'], 92, /is not served by any cache/],
    [['osdf:///demo/set/a', 'x'], 2, /"x" is not a URL/],
    [['osdf:///private/x'], 93, /token/],
  ];
  for (const [words, exit, message] of expected) {
    const said = await harness.updraft(['warm', ...words]);
    assert.match(said.err, message, words.join(' '));
    assert.equal(said.exit, exit, said.err);
  }
  await harness.publish('demo/stuck', 100_000);
  await harness.trouble('cache-2: down', 'origin: stall after 1kB on /demo/stuck');
  const stuck = await harness.updraft(['warm', '-n', '1', 'osdf:///demo/stuck'], { clock: fastClock(200) });
  assert.match(stuck.err, /fetches nothing within 100 s/);
  assert.equal(stuck.exit, 92, stuck.err);
  const all = await harness.updraft(['warm', '--recursive', 'osdf:///demo/set'], { clock: fastClock(50) });
  assert.equal(all.exit, 92, all.err);
  assert.equal(all.out.match(/: filled, 1 B/g)?.length, 2, all.out);
  assert.match(all.err, /2 of 4 done; not done:/);
});
