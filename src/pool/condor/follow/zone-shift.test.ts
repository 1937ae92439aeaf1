import assert from 'node:assert/strict';
import { test } from 'node:test';
import { zoneShift } from './zone-shift.ts';

const at = Date.parse('2026-11-15T12:00:00Z');
const [minute, hour] = [60_000, 3_600_000];

test('a log read in another time zone is shifted by the difference, to the quarter hour', () => {
  for (const off of [-12, -6, -5.5, -0.75, 0, 1, 5.75, 14])
    assert.equal(zoneShift(at + off * hour, at - 5000, at + 5000), 0 - off * hour, String(off));
});

test('clocks seconds apart, and a submission found again hours later, cause no shift', () => {
  assert.equal(zoneShift(at - 20_000, at, at + 5000), 0);
  assert.equal(zoneShift(at + minute, at, at + 5 * hour), 0);
  assert.equal(zoneShift(at, at - 5000, Infinity), 0);
});

test('a difference of days is not a time zone', () => {
  assert.equal(zoneShift(at - 72 * hour, at, at), 0);
});
