import assert from 'node:assert/strict';
import { test } from 'node:test';
import { closedBreaker, tripped } from './breaker.ts';

test('a server rests longer after each failure, and never longer than a minute', () => {
  let breaker = closedBreaker;
  const rests: number[] = [];
  for (let nth = 0; nth < 9; nth++) {
    breaker = tripped(breaker, 1000);
    rests.push(breaker.restsUntil - 1000);
  }
  assert.deepEqual(rests, [500, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
});

test('a server that asks for a longer rest gets it', () => {
  assert.equal(tripped(closedBreaker, 0, 120_000).restsUntil, 120_000);
});
