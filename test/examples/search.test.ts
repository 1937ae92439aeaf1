import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stoppedEarly } from '@updraft/account/journal';
import { ExampleHarness } from './example-harness.ts';

test('a search: the commands in its README stop the worse trials early', async (t) => {
  const harness = await ExampleHarness.open(t, 'search', []);
  if (harness === undefined) return;
  const { code, out, err } = await harness.followPage('examples/search/README.md');
  assert.equal(code, 0, err);
  assert.match(out, /rung 1 \(epoch 1\): of about 9 go on 3/);
  assert.match(out, / stopped-early /);
  const { state } = await harness.result();
  assert.equal(state.tally.success, 9);
  const stopped = state.jobs.flatMap((job) => stoppedEarly(job) ?? []);
  assert.ok(stopped.length > 0 && stopped.length < 9, `${stopped.length} were stopped`);
  for (const { seen, better } of stopped) assert.ok(better >= Math.max(1, Math.floor(seen / 3)));
});
