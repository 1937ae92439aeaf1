import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { ManualClock } from '../../../../test/agent/manual-clock.ts';
import { abortable } from '@updraft/base';
import { Fault } from '../../fault.ts';
import { defaultTransferLimits } from '../limits.ts';
import { judgeSegment, Fetchers, speedFloor, type SpeedContext, type FetcherStatus } from './fetchers.ts';
import { Roster, type Source } from './roster.ts';
import { type Segment, SegmentMap } from './segments.ts';
import { Setback } from './check-response.ts';

const mebibyte = 1 << 20;
const broken = new Setback('broken', new Fault('transfer-stalled', 'fell silent'));

/** Two servers of an object of 8 MiB; the fetcher of the first has all of it and waits for its first byte. */
function scene() {
  const clock = new ManualClock();
  const roster = new Roster();
  const servers = ['a', 'b'].map((host) => ({ url: `http://${host}/x`, host, kind: 'cache' as const }));
  const headers = () => Promise.resolve({});
  roster.add({ url: 'osdf:///x', servers, requireToken: false, headers }, clock.monotonic());
  const [first, second] = roster.sources as [Source, Source];
  const segments = new SegmentMap(8 * mebibyte);
  const lanes = new Fetchers(clock);
  const segment = segments.claim({ server: 'a', limit: Infinity, before: Infinity, grain: 1 })!;
  const ended: (string | undefined)[] = [];
  const begin = () =>
    lanes.start(
      { source: first, segment, helps: false },
      ({ controller }) => abortable(new Promise<void>(() => undefined), controller.signal),
      (error) => ended.push(error?.message),
    );
  const takeOver = (): Segment | undefined =>
    segments.takeOver(
      { server: 'b', limit: Infinity, before: Infinity, grain: 1 },
      { rate: mebibyte, answerSeconds: 0 },
      (each) => lanes.rateOf(each, second),
    );
  return { clock, roster, first, second, lanes, piece: segment, ended, begin, takeOver };
}

test('a server that was just asked has a second to answer', async () => {
  const s = scene();
  s.begin();
  await s.clock.pass(900);
  assert.equal(s.takeOver(), undefined);
  await s.clock.pass(200);
  assert.equal(s.takeOver()?.start, 0);
  s.lanes.endEmpty();
  await s.lanes.stop();
  assert.deepEqual(s.ended, ['a: fell silent']);
});

test('a fetcher that is stopped ends only when the sink has taken its last bytes', async () => {
  const s = scene();
  const sink = Promise.withResolvers<undefined>();
  s.lanes.start(
    { source: s.first, segment: s.piece, helps: false },
    (fetcher) => {
      fetcher.taken = sink.promise;
      return abortable(new Promise<void>(() => undefined), fetcher.controller.signal);
    },
    () => s.ended.push('ended'),
  );
  const stopped = s.lanes.stop();
  await nextTurn();
  assert.deepEqual(s.ended, []);
  sink.resolve(undefined);
  await stopped;
  assert.deepEqual(s.ended, ['ended']);
});

test('a server that failed before holds up no server that delivers, not even for its first second', async () => {
  const s = scene();
  s.roster.failed(s.first, broken, s.clock.monotonic());
  s.begin();
  assert.equal(s.takeOver()?.start, 0);
  s.lanes.endEmpty();
  await s.lanes.stop();
  assert.deepEqual(s.ended, ['a: fell silent']);
});

test('of two servers that failed before, neither takes from the other what was just requested', async () => {
  const s = scene();
  for (const source of [s.first, s.second]) s.roster.failed(source, broken, s.clock.monotonic());
  s.begin();
  assert.equal(s.takeOver(), undefined);
  await s.lanes.stop();
});

test('a server that failed before takes nothing from one that delivers, and everything from a silent one', async () => {
  const s = scene();
  s.roster.failed(s.second, broken, s.clock.monotonic());
  s.begin();
  await s.clock.pass(500);
  s.piece.position = mebibyte;
  s.first.meter.add(mebibyte, s.clock.monotonic());
  assert.equal(s.takeOver(), undefined);
  await s.clock.pass(1000);
  assert.equal(s.takeOver()?.start, mebibyte);
  await s.lanes.stop();
});

test('a server that failed before and delivers now keeps its segment', async () => {
  const s = scene();
  s.roster.failed(s.first, broken, s.clock.monotonic());
  s.begin();
  await s.clock.pass(500);
  s.piece.position = mebibyte;
  s.first.meter.add(mebibyte, s.clock.monotonic());
  assert.ok((s.takeOver()?.start ?? 0) > mebibyte);
  await s.lanes.stop();
});

/** Checks the fetcher every `everyMs` for half a minute, and returns how long it was silent each time. */
async function watchedSilence(everyMs: number): Promise<number[]> {
  const s = scene();
  s.begin();
  const silence: number[] = [];
  for (let at = 0; at <= 30_000; at += everyMs) {
    s.lanes.watch(({ quietMs }) => {
      silence.push(quietMs);
      return 'fine';
    });
    await s.clock.pass(everyMs);
  }
  await s.lanes.stop();
  return silence;
}

test('time in which this process itself was blocked does not count as silence', async () => {
  assert.deepEqual(await watchedSilence(15_000), [0, 0, 0]);
  assert.equal((await watchedSilence(250)).at(-1), 30_000);
  assert.equal((await watchedSilence(2_000)).at(-1), 30_000);
});

const limits = { ...defaultTransferLimits, stallSeconds: 20 };
const gigabyte = 1e9;
const alone: SpeedContext = {
  bestOther: 0,
  alternative: false,
  size: gigabyte,
};
const steady: FetcherStatus = { quietMs: 100, runningMs: 60_000, rate: 50e6 };

test('a server that delivers is left alone', () => {
  assert.equal(judgeSegment(steady, alone, limits), 'fine');
});

test('twenty silent seconds are a stall, five while another server delivers', () => {
  assert.equal(judgeSegment({ ...steady, quietMs: 19_000 }, alone, limits), 'fine');
  assert.equal(judgeSegment({ ...steady, quietMs: 20_000 }, alone, limits), 'stalled');
  assert.equal(judgeSegment({ ...steady, quietMs: 5_000 }, { ...alone, bestOther: 1e6 }, limits), 'stalled');
});

test('a trickle is too slow only if there is another server to ask', () => {
  const trickle = { ...steady, rate: 50_000 };
  assert.equal(judgeSegment(trickle, alone, limits), 'fine');
  assert.equal(judgeSegment(trickle, { ...alone, alternative: true }, limits), 'slow');
  assert.equal(judgeSegment(trickle, { ...alone, alternative: true, bestOther: 50e6 }, limits), 'drop');
  assert.equal(
    judgeSegment({ ...trickle, runningMs: 1_000 }, { ...alone, alternative: true }, limits),
    'fine',
  );
});

test("the minimum rate rises with the object's size and the rate of other servers", () => {
  const floor = (more: Partial<SpeedContext>) => speedFloor({ ...alone, ...more }, limits);
  assert.equal(floor({}), 100 * 1024);
  assert.ok(floor({ size: 100 * gigabyte }) > 4e6);
  assert.equal(floor({ bestOther: 160e6 }), 10e6);
});
