import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import { Rationed } from './rationed.ts';

test('what takes 40 ms to get is got anew after 4 s when it may take a hundredth of the time', async () => {
  const clock = new ManualClock();
  let asked = 0;
  let takes = 0;
  const costly = {
    now: () => clock.now(),
    sleep: clock.sleep.bind(clock),
    monotonic: () => clock.monotonic() + takes,
  };
  const get = (): number => {
    takes += 40;
    return ++asked;
  };
  const rationed = new Rationed(get, 0.01, costly);
  assert.equal(rationed.ask(), 1);
  await clock.pass(3999);
  assert.equal(rationed.ask(), 1);
  await clock.pass(1);
  assert.equal(rationed.ask(), 2);
});

test('what costs nothing is got every time', () => {
  let asked = 0;
  const rationed = new Rationed(() => ++asked, 0.01, new ManualClock());
  assert.deepEqual([rationed.ask(), rationed.ask()], [1, 2]);
});
