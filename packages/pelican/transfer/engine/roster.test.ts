import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defined } from '@updraft/base';
import { Fault, type FaultKind } from '../../fault.ts';
import type { Located, ObjectServer } from '../../federation/located.ts';
import { clearestFault, closedBreaker, RateMeter, Roster, tripped, type Source } from './roster.ts';
import { Setback, type SetbackKind } from './check-response.ts';

const later = 1_000_000;

/** Names that begin with `origin` are origins, all others caches. */
function locatedAt(hosts: string[], onlyBy?: string): Located {
  const servers = hosts.map((host): ObjectServer => ({
    ...{ url: `http://${host}/x`, host },
    kind: host.startsWith('origin') ? 'origin' : 'cache',
  }));
  const headers = () => Promise.resolve({});
  return { url: 'osdf:///x', servers, requireToken: false, headers, ...defined({ onlyBy }) };
}

function rosterOf(hosts: string[], suspects?: Set<string>) {
  const roster = new Roster(suspects);
  roster.add(locatedAt(hosts), 0);
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

test('a cache that was waited for and has delivered no longer keeps others from being asked', () => {
  const s = rosterOf(['a', 'b']);
  s.fail(s.first, 'filling', 'transfer-stalled');
  assert.deepEqual([s.roster.isPassDone, s.roster.allFree(later)], [false, false]);
  s.roster.progressed(s.first);
  assert.deepEqual(s.free(), ['a', 'b']);
  const alone = rosterOf(['a']);
  alone.fail(alone.first, 'filling', 'transfer-stalled');
  assert.equal(alone.roster.isPassDone, false);
  assert.equal(s.roster.allFree(later), true);
});

test('a server is known once, and an origin that is found later comes first', () => {
  const s = rosterOf(['a', 'b']);
  s.roster.add(locatedAt(['b', 'c', 'origin']), 0);
  assert.deepEqual(s.free(), ['origin', 'a', 'b', 'c']);
});

test('a server at work is not asked again', () => {
  const s = rosterOf(['a', 'b']);
  s.first.busy = true;
  assert.deepEqual(s.free(), ['b']);
  assert.equal(s.roster.allFree(later), false);
});

test('a cache without a copy comes after one that failed once, and one without ranges is last', () => {
  const s = rosterOf(['ranges', 'cold', 'failed', 'good']);
  const [, cold, failed] = s.roster.sources as [Source, Source, Source];
  s.fail(s.first, 'no-ranges');
  s.fail(cold, 'cold');
  s.fail(failed, 'broken');
  assert.deepEqual(s.free(), ['good', 'failed', 'cold', 'ranges']);
  assert.deepEqual([cold.tries, cold.breaker.failures, cold.last], [0, 0, undefined]);
});

test('a server that withdraws twice what it sent is not asked again', () => {
  const s = rosterOf(['a', 'b']);
  s.fail(s.first, 'withdrawn');
  assert.equal(s.first.dead, false);
  s.fail(s.first, 'withdrawn');
  assert.deepEqual(s.free(), ['b']);
});

test('caches without the object can be asked again, an origin only if it lists the object', () => {
  for (const [isListed, free] of [
    [false, ['a']],
    [true, ['a', 'origin']],
  ] as const) {
    const s = rosterOf(['a', 'origin', 'refuses']);
    for (const source of [s.first, s.second]) s.fail(source, 'missing', 'object-missing');
    s.fail(s.roster.sources[2]!, 'refused', 'token-refused');
    s.roster.revive(isListed);
    assert.deepEqual(s.free(), free);
  }
});

test('while a new token is awaited no server is asked, and none has failed', () => {
  const s = rosterOf(['a', 'b']);
  s.roster.waitForToken(500);
  assert.deepEqual([s.free(1499), s.free(1500)], [[], ['a', 'b']]);
  assert.equal(s.first.breaker.failures, 0);
});

test('other servers are first those at work, then an origin; never one without the object', () => {
  const s = rosterOf(['a', 'dead', 'origin', 'b', 'asker']);
  s.second.dead = true;
  s.roster.sources[3]!.turn.bytes = 1;
  assert.deepEqual(
    s.roster.othersThan('asker').map(({ server }) => server.host),
    ['b', 'origin', 'a'],
  );
});

test('servers of another version, without the object or without ranges count for nothing', () => {
  const s = rosterOf(['a', 'b']);
  assert.deepEqual([s.roster.hasOthers, s.roster.onlySenders(['a'])], [true, false]);
  s.second.noRanges = true;
  assert.equal(s.roster.onlySenders(['a']), true);
  s.second.dead = true;
  s.first.disagrees = true;
  assert.equal(s.roster.hasOthers, false);
  s.second.noRanges = false;
  assert.equal(s.roster.onlySenders(['a']), true);
});

test('an origin is trusted alone if all caches sent wrong bytes; a cache never is', () => {
  const s = rosterOf(['a', 'origin'], new Set(['a']));
  assert.deepEqual([s.roster.isOnlyTrusted(s.second), s.roster.allSuspect], [true, false]);
  const caches = rosterOf(['a', 'b'], new Set(['a']));
  assert.equal(caches.roster.isOnlyTrusted(caches.second), false);
  assert.equal(rosterOf(['a'], new Set(['a'])).roster.allSuspect, true);
});

test('a fetch from the start gives every server its tries again', () => {
  const s = rosterOf(['a', 'b']);
  for (const source of [s.first, s.second]) s.fail(source, 'broken');
  s.roster.restart();
  assert.deepEqual([s.first.tries, s.second.tries], [0, 0]);
});

test('a turn ends when its server fails', () => {
  const s = rosterOf(['a', 'b']);
  s.first.turn = { bytes: 5, seconds: 1 };
  assert.deepEqual(s.roster.endTurn('a'), { turn: { bytes: 5, seconds: 1 } });
  assert.deepEqual(s.first.turn, { bytes: 0, seconds: 0 });
  assert.deepEqual(s.roster.endTurn('unknown'), {});
});

test('the fault is the most informative one; caches alone cannot say that an object is missing', () => {
  const s = rosterOf(['a', 'b']);
  const kind = (isMissing?: boolean) => clearestFault('x', s.roster.sources, 'no byte', isMissing).kind;
  s.fail(s.first, 'missing', 'object-missing');
  assert.deepEqual([kind(), kind(true)], ['servers-unreachable', 'object-missing']);
  s.fail(s.second, 'broken', 'transfer-failed');
  assert.equal(kind(), 'transfer-failed');
  const origin = rosterOf(['a', 'origin']);
  origin.fail(origin.second, 'missing', 'object-missing');
  assert.equal(clearestFault('x', origin.roster.sources, 'no byte').kind, 'object-missing');
});

test('if only some caches are allowed, the fault says whose they are', () => {
  const s = rosterOf([]);
  assert.equal(s.roster.isExclusive, false);
  s.roster.add(locatedAt(['a'], 'UPDRAFT_CACHES'), 0);
  s.fail(s.roster.sources[0]!, 'broken');
  assert.equal(s.roster.isExclusive, true);
  assert.match(
    clearestFault('x', s.roster.sources, 'no byte').fix ?? '',
    /only the caches of UPDRAFT_CACHES/,
  );
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
  assert.equal(s.roster.allSuspect, true, 'whoever sent no wrong bytes fails: the origin is asked');
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
