import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Clock, systemClock } from '@updraft/base';
import { loadRun } from '@updraft/account/journal';
import { supervise } from '../../src/pool/local/supervisor.ts';
import { RunHarness } from './run-harness.ts';

const hour = 3_600_000;

for (const step of [2 * hour, 8760 * hour, -2 * hour]) {
  test(`a clock that jumps by ${step / hour} h each time it is read adds no hour to a run`, async (t) => {
    const harness = await RunHarness.make(t);
    await harness.describe('echo 1 > model.pt');
    const run = await harness.createRun();
    let set = 0;
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + (set += step) };
    assert.equal(await supervise(await harness.supervision(run, { clock })), 'ended');
    const state = await loadRun(run);
    const [job] = state.jobs;
    assert.ok(job !== undefined && job.to - job.from < hour / 2, JSON.stringify(job));
    const ended = Date.parse(state.endedAt ?? '') - Date.parse(state.createdAt ?? '');
    assert.ok(ended >= 0 && ended < hour / 2, String(ended));
  });
}
