import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseEventLog, parseInPieces, stamps } from './plain.ts';

const logs = ['evict_vacate.log', 'normal.log', 'p_excl4.log', 'hold_release.log', 'factory.log'].map(
  (name) => readFileSync(path.join(import.meta.dirname, name)),
);

const damage = fc.record({
  log: fc.constantFrom(...logs),
  at: fc.double({ min: 0, max: 1, noNaN: true }),
  removed: fc.nat(120),
  inserted: fc.oneof(
    fc.uint8Array({ maxLength: 60 }),
    fc
      .constantFrom('\n...\n', '{', '}', '\n{\n', '\0\0\0\0', '\r\n', '\n005 (', '"', '(')
      .map((text) => Buffer.from(text)),
  ),
});

test('random damage never throws, and takes no event more than one away from it', () => {
  fc.assert(
    fc.property(damage, ({ log, at, removed, inserted }) => {
      const from = Math.floor(at * log.length);
      const to = Math.min(log.length, from + removed);
      const damaged = Buffer.concat([log.subarray(0, from), inserted, log.subarray(to)]);
      const shift = inserted.length - (to - from);
      const { events: before } = parseEventLog(log, stamps);
      const after = new Map(parseEventLog(damaged, stamps).events.map((event) => [event.offset, event]));
      for (const event of after.values()) assert.ok(event.details);
      const starts = before.map(({ offset }) => offset);
      const first = Math.max(
        0,
        starts.findLastIndex((start) => start <= from),
      );
      const last = Math.max(
        0,
        starts.findLastIndex((start) => start <= to),
      );
      for (const [index, event] of before.entries()) {
        if (index >= first - 1 && index <= last + 1) continue;
        const kept = after.get(index < first ? event.offset : event.offset + shift);
        assert.ok(kept, `event ${index} of ${before.length} is lost; damage in events ${first} to ${last}`);
        assert.equal(kept.text, event.text);
        assert.deepEqual(kept.details, event.details);
      }
    }),
    { numRuns: 400, seed: 20_261_115 },
  );
});

test('a damaged log, too, is read the same in any pieces', () => {
  fc.assert(
    fc.property(
      damage,
      fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 5 }),
      ({ log, at, inserted }, sizes) => {
        const from = Math.floor(at * log.length);
        const damaged = Buffer.concat([log.subarray(0, from), inserted, log.subarray(from)]);
        const whole = parseEventLog(damaged, stamps);
        const pieces = parseInPieces(damaged, sizes);
        assert.deepEqual(
          pieces.events.map((event) => [event.offset, event.text, event.whole]),
          whole.events.map((event) => [event.offset, event.text, event.whole]),
        );
        assert.deepEqual(
          pieces.garbled.map((part) => [part.offset, part.text]),
          whole.garbled.map((part) => [part.offset, part.text]),
        );
      },
    ),
    { numRuns: 200, seed: 20_261_115 },
  );
});

test('noise of any kind is garbled, not an error', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 5000 }), (noise) => {
      const { events } = parseEventLog(noise, stamps);
      for (const event of events) assert.ok(event.details);
    }),
    { numRuns: 200, seed: 20_261_115 },
  );
});
