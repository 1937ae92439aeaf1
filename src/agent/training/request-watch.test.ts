import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import type { AgentBody } from '@updraft/account/journal';
import { RequestWatch } from '../run-attempt.ts';

function watching(timeSeconds: number | undefined) {
  const clock = new ManualClock();
  const recorded: AgentBody[] = [];
  const asked = { memoryBytes: 200e6, ...(timeSeconds === undefined ? {} : { timeSeconds }) };
  const watch = new RequestWatch(clock, asked, (body) => recorded.push(body));
  const epoch = async (number: number, seconds: number): Promise<void> => {
    await clock.pass(seconds * 1000);
    watch.onEntry({ kind: 'progress', epoch: number, epochs: 100 });
  };
  return { watch, recorded, epoch };
}

test('a training that will take longer than its limit is recorded by its second epoch, and again if that changes', async () => {
  const { watch, recorded, epoch } = watching(100);
  await epoch(1, 20);
  assert.deepEqual([recorded, watch.neededSeconds], [[], undefined]);
  await epoch(2, 10);
  assert.deepEqual(recorded, [{ kind: 'request-short', of: 'time', needed: 1010, asked: 100 }]);
  await epoch(3, 10);
  assert.equal(recorded.length, 1);
  for (let number = 4; number < 60; number++) await epoch(number, 0.1);
  assert.deepEqual(recorded.at(-1), { kind: 'request-short', of: 'time', needed: 100, asked: 100 });
});

test('no limit, no report of how many epochs there are: nothing to compare', async () => {
  const { watch, recorded, epoch } = watching(undefined);
  for (const number of [1, 2, 3]) await epoch(number, 1000);
  assert.equal(watch.neededSeconds, 100_000);
  watch.onEntry({ kind: 'training-started', pid: 1, command: 'again' });
  watch.onEntry({ kind: 'progress', epoch: 4 });
  assert.deepEqual(recorded, []);
});

test('epochs from 0 have as many to go as epochs from 1', async () => {
  const needed = async (first: number): Promise<number | undefined> => {
    const { watch, epoch } = watching(undefined);
    watch.onEntry({ kind: 'progress', firstEpoch: first });
    for (const number of [0, 1, 2]) await epoch(first + number, 10);
    return watch.neededSeconds;
  };
  assert.equal(await needed(0), await needed(1));
  const { watch, epoch } = watching(undefined);
  watch.onEntry({ kind: 'progress', firstEpoch: 0 });
  watch.onEntry({ kind: 'training-started', pid: 1, command: 'again' });
  for (const number of [97, 98]) await epoch(number, 10);
  assert.equal(Math.round(watch.neededSeconds ?? 0), 30);
});

test('memory above the request is recorded', () => {
  const { watch, recorded } = watching(undefined);
  for (const memoryBytes of [100e6, 450e6, 460e6])
    watch.onEntry({ kind: 'heartbeat', memoryBytes, quietSeconds: 0 });
  assert.deepEqual(recorded, [{ kind: 'request-short', of: 'memory', needed: 450e6, asked: 200e6 }]);
});
