import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RateMeter } from './rate-meter.ts';

test('the rate is that of the last seconds', () => {
  const meter = new RateMeter(10_000);
  for (let now = 10_000; now < 20_000; now += 50) meter.add(50_000, now);
  assert.ok(Math.abs(meter.rate(20_000) - 1e6) < 1e5, String(meter.rate(20_000)));
  assert.ok(meter.rate(22_000) < 0.6e6);
  assert.equal(meter.rate(30_000), 0);
});

test('a young meter does not divide by seconds that have not passed', () => {
  const meter = new RateMeter(0);
  meter.add(1e6, 400);
  assert.ok(Math.abs(meter.rate(500) - 2e6) < 1);
});
