import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '../../fault/fault.ts';
import type { FaultKind } from '../../fault/kinds.ts';
import { closedBreaker, RateMeter, Roster, tripped, type Source } from './roster.ts';
import { Setback, type SetbackKind } from './setback.ts';

const later = 1_000_000;

function rosterOf(hosts: string[], suspects?: Set<string>) {
  const roster = new Roster(suspects);
  const servers = hosts.map((host) => ({ url: `http://${host}/x`, host, kind: 'cache' as const }));
  const headers = () => Promise.resolve({});
  roster.add({ url: 'osdf:///x', servers, requireToken: false, headers }, 0);
  const fail = (source: Source, trouble: SetbackKind, kind: FaultKind = 'transfer-failed', at = 0): void =>
    roster.failed(source, new Setback(trouble, new Fault(kind, trouble)), at);
  const free = (now = later) => roster.candidates(now).map(({ server }) => server.host);
  const [first, second] = roster.sources as [Source, Source];
  return { roster, fail, free, first, second };
}

test('a server without the object is not asked again, unless it delivered before', () => {
  const s = rosterOf(['a', 'b']);
  s.second.bytes = 1;
  s.fail(s.first, 'missing', 'object-missing');
  s.fail(s.second, 'missing', 'object-missing');
  assert.deepEqual([s.first.dead, s.second.dead], [true, false]);
  assert.deepEqual(s.free(), ['b']);
});

test('a server that refuses the token is not asked again, unless another server accepted it', () => {
  const never = rosterOf(['a', 'b']);
  never.fail(never.first, 'refused', 'token-refused');
  assert.deepEqual(never.free(), ['b']);
  const once = rosterOf(['a', 'b']);
  once.second.bytes = 1;
  once.fail(once.first, 'refused', 'token-refused');
  assert.deepEqual(once.free(), ['b', 'a']);
});

test('a failed server backs off, longer if it asks for that, and those that failed less come first', () => {
  const s = rosterOf(['a', 'b']);
  s.fail(s.first, 'broken');
  assert.deepEqual(s.free(0), ['b']);
  assert.equal(s.roster.nextAt(), 0);
  assert.deepEqual(s.free(), ['b', 'a']);
  const busy = new Setback('busy', new Fault('servers-unreachable', 'later', { retryAfterSeconds: 100 }));
  s.roster.failed(s.second, busy, 0);
  assert.deepEqual(s.free(99_999), ['a']);
  assert.deepEqual(s.free(100_000), ['a', 'b']);
});

test('a cache that is still filling is waited for, a limited number of times, and no other is asked', () => {
  const s = rosterOf(['a', 'b']);
  for (let nth = 1; nth <= 6; nth++) {
    s.fail(s.first, 'filling', 'transfer-stalled');
    assert.deepEqual(s.free(), ['a'], `after ${nth} answers`);
  }
  s.fail(s.first, 'filling', 'transfer-stalled');
  assert.deepEqual(s.free(), ['b', 'a']);
});

test('progress of one server resets the tries of the others', () => {
  const s = rosterOf(['a', 'b']);
  for (const source of [s.first, s.second]) s.fail(source, 'broken');
  assert.equal(s.roster.isPassDone, true);
  s.roster.nextPass();
  s.roster.progressed(s.second);
  assert.deepEqual([s.roster.passes, s.roster.isPassDone, s.first.tries], [0, false, 0]);
  assert.equal(s.second.breaker.failures, 0);
});

test('if no server was ever reached there are fewer passes', () => {
  const passes = { maxPasses: 2, maxUnreachedPasses: 1 };
  const s = rosterOf(['a', 'b']);
  for (const source of [s.first, s.second]) s.fail(source, 'broken', 'servers-unreachable');
  s.roster.nextPass();
  assert.equal(s.roster.hasPassesLeft(passes), false);
  s.fail(s.first, 'broken', 'transfer-failed');
  assert.equal(s.roster.hasPassesLeft(passes), true);
});

test('a server with another version is left alone until the object is fetched from the start again', () => {
  const s = rosterOf(['a', 'b']);
  s.fail(s.first, 'changed', 'object-changed');
  assert.deepEqual(s.free(), ['b']);
  s.roster.restart();
  assert.deepEqual(s.free(0), ['a', 'b']);
});

test('a server that sent wrong bytes is asked only if there is no other', () => {
  const s = rosterOf(['a', 'b'], new Set(['a']));
  assert.deepEqual(s.free(), ['b']);
  s.fail(s.second, 'missing', 'object-missing');
  assert.deepEqual(s.free(), ['a']);
  assert.equal(s.roster.allSuspect, false);
});

test('a server backs off longer after each failure, up to a minute', () => {
  let breaker = closedBreaker;
  const rests: number[] = [];
  for (let nth = 0; nth < 9; nth++) {
    breaker = tripped(breaker, 1000);
    rests.push(breaker.openUntil - 1000);
  }
  assert.deepEqual(rests, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
});

test('a server that asks for a longer backoff gets it', () => {
  assert.equal(tripped(closedBreaker, 0, 120_000).openUntil, 120_000);
});

test('the rate is that of the last seconds', () => {
  const meter = new RateMeter(10_000);
  for (let now = 10_000; now < 20_000; now += 50) meter.add(50_000, now);
  assert.ok(Math.abs(meter.rate(20_000) - 1e6) < 1e5, String(meter.rate(20_000)));
  assert.ok(meter.rate(22_000) < 0.6e6);
  assert.equal(meter.rate(30_000), 0);
});

test('a new meter does not divide by seconds that have not passed', () => {
  const meter = new RateMeter(0);
  meter.add(1e6, 400);
  assert.ok(Math.abs(meter.rate(500) - 2e6) < 1);
});
