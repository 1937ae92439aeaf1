import assert from 'node:assert/strict';
import { test } from 'node:test';
import { steadyClock, systemClock } from './clock.ts';

test('setting the wall clock does not change the time between two readings', () => {
  let [wall, passed] = [1_000_000, 5.25];
  const clock = steadyClock({ ...systemClock, now: () => wall, monotonic: () => passed });
  assert.equal(clock.now(), 1_000_000);
  wall += 3_600_000;
  passed += 90;
  assert.equal(clock.now(), 1_000_090);
  wall = 0;
  assert.equal(clock.now(), 1_000_090);
});
