import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { parseEventLog, parseInPieces, plain, stamps } from './plain.ts';

const folder = import.meta.dirname;
const fixtures = readdirSync(folder).filter((name) => name.endsWith('.log'));

for (const name of fixtures) {
  test(`${name} gives the same events whole, byte by byte and in odd pieces`, () => {
    const log = readFileSync(path.join(folder, name));
    const { events, garbled } = parseEventLog(log, stamps);
    const expected = { events: events.map(plain), garbled: garbled.map((part) => part.text) };
    assert.ok(events.length > 0);
    for (const sizes of [[1], [7], [64, 1, 3], [1000], [4096, 5]]) {
      const pieces = parseInPieces(log, sizes);
      assert.deepEqual(
        { events: pieces.events.map(plain), garbled: pieces.garbled.map((part) => part.text) },
        expected,
      );
    }
  });
}

test('every event of a real log is found, whole, with a time, and nothing is garbled', () => {
  for (const name of fixtures) {
    const log = readFileSync(path.join(folder, name));
    const written = log.toString('latin1').match(/^\d{3} \(/gm)?.length;
    const { events, garbled } = parseEventLog(log, stamps);
    assert.equal(events.length, written, name);
    assert.deepEqual(garbled, [], name);
    for (const event of events) {
      assert.equal(event.whole, true, name);
      assert.equal(typeof event.time, 'number', name);
    }
  }
});
