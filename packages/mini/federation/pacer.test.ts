import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Clock } from '@updraft/base';
import { Pacer } from './trouble.ts';

function handClock(): Clock & { time: number } {
  return {
    time: 0,
    now() {
      return this.time;
    },
    monotonic() {
      return this.time;
    },
    sleep(ms) {
      this.time += ms;
      return Promise.resolve();
    },
  };
}

const never = new AbortController().signal;

test('bytes pass evenly: never more than one piece ahead of the rate', async () => {
  const clock = handClock();
  const pacer = new Pacer(1_000_000, clock);
  assert.equal(pacer.pieceSize, 10_000);
  for (let sent = 0; sent < 1_000_000; sent += pacer.pieceSize) {
    await pacer.pass(pacer.pieceSize, never);
    assert.ok(Math.abs(clock.time - sent / 1000) < 0.001, `${sent} bytes at ${clock.time} ms`);
  }
});

test('after a pause, a reader catches up by at most 50 ms', async () => {
  const clock = handClock();
  const pacer = new Pacer(1_000_000, clock);
  await pacer.pass(10_000, never);
  clock.time += 5_000;
  const resumed = clock.time;
  for (let sent = 0; sent < 200_000; sent += 10_000) await pacer.pass(10_000, never);
  assert.equal(clock.time - resumed, 140);
});

test('answers that share a pacer share its rate', async () => {
  const waits: number[] = [];
  const sleep = (ms: number): Promise<void> => Promise.resolve(void waits.push(ms));
  const pacer = new Pacer(1_000_000, { now: () => 0, monotonic: () => 0, sleep });
  await Promise.all(Array.from({ length: 4 }, () => pacer.pass(10_000, never)));
  assert.deepEqual(waits, [10, 20, 30]);
});
