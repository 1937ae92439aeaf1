import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { mayWiden, SegmentMap, type Segment, type FreeServer, type SegmentRequest } from './segments.ts';

const mebibyte = 1 << 20;
const want = (server: string, more: Partial<SegmentRequest> = {}): SegmentRequest => ({
  server,
  limit: Infinity,
  before: Infinity,
  grain: 1,
  ...more,
});

function thief(rate: number, answerSeconds = 0.05): FreeServer {
  return { rate, answerSeconds };
}

function claimed(segment: Segment | undefined): [number, number] | undefined {
  return segment === undefined ? undefined : [segment.start, segment.end];
}

test('one server gets everything that is missing in one segment', () => {
  const segments = new SegmentMap(100, [{ start: 0, end: 30 }]);
  assert.deepEqual(claimed(segments.claim(want('a'))), [30, 100]);
  assert.equal(segments.claim(want('b')), undefined);
});

test('segments are assigned in order, within their limit, aligned, and not beyond the window', () => {
  const segments = new SegmentMap(100);
  assert.deepEqual(claimed(segments.claim(want('a', { limit: 15, grain: 10 }))), [0, 20]);
  assert.deepEqual(claimed(segments.claim(want('b', { limit: 15, before: 30 }))), [20, 30]);
  assert.equal(segments.claim(want('c', { before: 30 })), undefined);
});

test('what a failed segment did not deliver is missing again', () => {
  const segments = new SegmentMap(100);
  const segment = segments.claim(want('a'))!;
  segment.position = 40;
  segments.release(segment);
  assert.deepEqual(segments.done, [{ start: 0, end: 40 }]);
  assert.deepEqual(claimed(segments.claim(want('b'))), [40, 100]);
});

test('a take-over is sized so that both servers end at the same time', () => {
  const segments = new SegmentMap(40 * mebibyte);
  const slow = segments.claim(want('slow'))!;
  const stolen = segments.takeOver(want('fast'), thief(30 * mebibyte), () => 10 * mebibyte);
  assert.deepEqual(claimed(stolen), [10 * mebibyte, 40 * mebibyte]);
  assert.equal(slow.end, 10 * mebibyte);
});

test('a silent segment is taken over completely', () => {
  const segments = new SegmentMap(40 * mebibyte);
  const silent = segments.claim(want('silent'))!;
  silent.position = mebibyte;
  assert.deepEqual(claimed(segments.takeOver(want('fast'), thief(1000), () => 0)), [mebibyte, 40 * mebibyte]);
  assert.equal(silent.end, silent.position);
});

test('a segment that has just begun is left to its server', () => {
  const segments = new SegmentMap(40 * mebibyte);
  segments.claim(want('a'));
  assert.equal(
    segments.takeOver(want('b'), thief(1e6), () => undefined),
    undefined,
  );
});

test('a server not yet measured gets half', () => {
  const segments = new SegmentMap(40 * mebibyte);
  segments.claim(want('a'));
  assert.deepEqual(claimed(segments.takeOver(want('b'), thief(0), () => mebibyte)), [
    20 * mebibyte,
    40 * mebibyte,
  ]);
});

test('the rest of the last chunk that a slow server has is taken over', () => {
  const segments = new SegmentMap(8 * mebibyte);
  segments.claim(want('slow'));
  const stolen = segments.takeOver(
    want('fast', { grain: 8 * mebibyte }),
    thief(63 * mebibyte),
    () => mebibyte,
  );
  assert.deepEqual(claimed(stolen), [mebibyte / 8, 8 * mebibyte]);
});

test('a segment that is nearly done is not taken over', () => {
  const segments = new SegmentMap(mebibyte);
  const segment = segments.claim(want('a'))!;
  segment.position = mebibyte - 1000;
  assert.equal(
    segments.takeOver(want('b'), thief(1e3), () => 1e3),
    undefined,
  );
  segment.position = 0;
  assert.equal(
    segments.takeOver(want('b'), thief(1e8), () => 1e8),
    undefined,
  );
});

test('a server takes over what it can deliver sooner, including its time to answer', () => {
  const segments = new SegmentMap(10 * mebibyte);
  segments.claim(want('a'));
  const rest = () => 100 * mebibyte;
  assert.equal(segments.takeOver(want('far'), thief(100 * mebibyte, 0.2), rest), undefined);
  assert.deepEqual(claimed(segments.takeOver(want('near'), thief(100 * mebibyte, 0.001), rest)), [
    5 * mebibyte,
    10 * mebibyte,
  ]);
});

test('a damaged range is not requested from the same server again until all are allowed again', () => {
  const segments = new SegmentMap(10, [{ start: 0, end: 10 }]);
  segments.putBack({ start: 2, end: 5 }, 'a');
  assert.equal(segments.complete, false);
  assert.equal(segments.claim(want('a')), undefined);
  segments.allowAllServers();
  assert.deepEqual(claimed(segments.claim(want('a'))), [2, 5]);
});

test('an object of unknown size ends where its size turns out to be', () => {
  const segments = new SegmentMap(Infinity);
  const segment = segments.claim(want('a'))!;
  segment.position = 7;
  segments.setSize(7);
  segments.release(segment);
  assert.equal(segments.complete, true);
  segments.setSize(9);
  assert.deepEqual(claimed(segments.claim(want('b'))), [7, 9], 'the answer only seemed to be whole');
});

test('whatever servers claim, take over, fail and deliver, every byte comes exactly once', () => {
  const action = fc.record({
    server: fc.constantFrom('a', 'b', 'c', 'd'),
    what: fc.constantFrom('claim', 'steal', 'advance', 'break', 'share'),
    amount: fc.integer({ min: 1, max: 4 * mebibyte }),
  });
  const sizes = fc.integer({ min: 1, max: 16 * mebibyte });
  fc.assert(
    fc.property(
      sizes,
      fc.constantFrom(1, 1000, mebibyte),
      fc.array(action, { maxLength: 60 }),
      (size, grain, actions) => {
        const segments = new SegmentMap(size);
        const got: [number, number][] = [];
        const running = new Map<string, Segment>();
        const advance = (segment: Segment, amount: number) => {
          const end = Math.min(segment.end, segment.position + amount);
          if (end > segment.position) got.push([segment.position, end]);
          segment.position = Math.max(segment.position, end);
        };
        for (const { server, what, amount } of actions) {
          const segment = running.get(server);
          if (what === 'share') segments.share(amount, grain);
          else if (segment === undefined) {
            const wish = want(server, { limit: amount, grain });
            const next =
              segments.claim(wish) ??
              (what === 'steal' ? segments.takeOver(wish, thief(amount), () => 1000) : undefined);
            if (next !== undefined) running.set(server, next);
          } else if (what === 'advance') advance(segment, amount);
          else if (what === 'break') {
            segments.release(segment);
            running.delete(server);
          }
        }
        for (const segment of running.values()) segments.release(segment);
        for (let rest = segments.claim(want('z')); rest !== undefined; rest = segments.claim(want('z'))) {
          advance(rest, Infinity);
          segments.release(rest);
        }
        assert.equal(segments.complete, true);
        let at = 0;
        for (const [start, end] of got.sort((a, b) => a[0] - b[0])) {
          assert.equal(start, at);
          at = end;
        }
        assert.equal(at, size);
        assert.deepEqual(segments.done, [{ start: 0, end: size }]);
      },
    ),
  );
});

const big = { sent: 64 << 20, missing: 1 << 30, rate: 50e6 };

test('a big object that flows is worth more servers', () => {
  assert.equal(mayWiden(big), true);
});

test('if a cache has the object, others are asked at once', () => {
  assert.equal(mayWiden({ ...big, sent: 0, rate: 0 }), true);
});

test('small remainders, and what takes a second, stay with one server', () => {
  assert.equal(mayWiden({ ...big, missing: 1 << 20 }), false);
  assert.equal(mayWiden({ ...big, rate: 5e9 }), false);
});
