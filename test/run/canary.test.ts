import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { loadRun } from '@updraft/account/journal';
import { RunHarness } from './run-harness.ts';

const script = 'echo {index} >> "$LOG"; [ -e "$GO" ] || exit 3; echo 1 > model.pt';

test('after a failed batch the rest is never queued, until a successful retry; then batch by batch', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(script, 'jobs = 4');
  const first = await harness.updraft('run', '--canary', '1,2');
  assert.equal(first.code, 1);
  assert.match(first.err, /1 of 4 jobs go ahead/);
  assert.match(
    first.err,
    /job 0000 of the canary failed \(.*exit code 3.*\); the other 3 jobs .* were never queued/,
  );
  assert.deepEqual(await harness.trainings(), ['0']);
  const [run] = await harness.runs();
  const status = await harness.updraft('status');
  assert.match(status.out, /0001 +kept-back/);
  assert.match(status.err, /updraft retry bench-\S+ --dry-run/);
  const why = await harness.updraft('why', '2');
  assert.match(why.out, /0002 waiting: it is kept back: a canary job failed/);
  const again = await harness.updraft('submit');
  assert.match(
    again.err,
    /0000 ran first and failed, so 3 jobs were never queued; `updraft retry` tries again/,
  );
  await writeFile(harness.env['GO']!, '');
  await harness.updraft('retry');
  const state = await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  assert.equal(state.tally.success, 4);
  const trainings = await harness.trainings();
  assert.deepEqual(
    [trainings.slice(0, 2), trainings.slice(2, 4).sort(), trainings[4]],
    [['0', '0'], ['1', '2'], '3'],
  );
});

test('a first batch with all jobs is not a canary, and wrong sizes are refused', async (t) => {
  const harness = await RunHarness.make(t);
  await writeFile(harness.env['GO']!, '');
  await harness.describe(script, 'jobs = 2');
  for (const sizes of ['0', '1,', 'x', '1.5', '-1'])
    assert.equal((await harness.updraft('run', `--canary=${sizes}`)).code, 2, sizes);
  assert.equal((await harness.updraft('run', '--canary', '5')).code, 0);
  const [run] = await harness.runs();
  assert.equal((await loadRun(run!)).canary, undefined);
});

test('stopping ends the jobs that are kept back, too', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('while [ ! -e "$GO" ]; do sleep 0.02; done; echo 1 > model.pt', 'jobs = 3');
  await harness.updraft('submit', '--canary', '1');
  const [run] = await harness.runs();
  await harness.until(run!, (state) => state.tally.running === 1);
  const { code, out } = await harness.updraft('stop', '--yes');
  assert.equal(code, 0);
  assert.match(out, /stopped 3 jobs of bench-/);
  const state = await loadRun(run!);
  assert.deepEqual([state.tally.removed, state.endedAt === undefined], [3, false]);
});
