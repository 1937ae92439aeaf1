import assert from 'node:assert/strict';
import { readdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { readRunState } from '../../src/run/run-states.ts';
import { condorHarness, onlyJob } from '../condor/condor-harness.ts';
import { runCommand } from '../cli/run-command.ts';
import { eventually, isIn, RunHarness } from '../run/run-harness.ts';

/** A training with a child, which must end with it. */
const endless =
  'echo started >> "$LOG"; sleep 600 & while [ ! -e "$GO" ]; do sleep 0.05; done; echo 1 > model.pt';

test('56: the run folder removed while the run goes on', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(endless);
  const watching = harness.start('run');
  await eventually(async () => (await harness.trainings()).length === 1);
  const [run] = await harness.runs();
  await rm(run!, { recursive: true });
  const began = performance.now();
  // Supervisor, agent, training and its child.
  await eventually(async () => (await harness.processes()).length === 0);
  assert.ok(performance.now() - began < 10_000, 'it ended within seconds');
  const { code, err } = await watching.answer;
  assert.equal(code, 5);
  assert.match(err, /runs\/bench-\S+ is gone: it was removed or moved away while the run went on/);
  assert.deepEqual(await harness.runs(), []);
  assert.deepEqual(await readdir(harness.scratch), []);
  assert.deepEqual(await harness.trainings(), ['started']);
});

test('56: the run folder moved away while the run goes on', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(endless);
  await harness.updraft('submit');
  const [run] = await harness.runs();
  await harness.until(run!, isIn('0000', 'training'));
  const moved = path.join(harness.folder, 'kept');
  await rename(run!, moved);
  await eventually(async () => (await harness.processes()).length === 0);
  assert.deepEqual(await harness.runs(), []);
  const [first] = (await readRunState(moved)).jobs[0]!.attempts;
  assert.equal(first?.outcome, 'lost');
  assert.match(first.fault?.message ?? '', /the run's folder was moved during the attempt/);
  const status = await harness.updraft('status', 'kept');
  assert.match(status.err, /the run has no supervisor[\s\S]*fix: updraft submit kept/);
});

const badImage = `name = "held"
[train]
command = "echo 1 > model.pt"
outputs = ["model.pt"]
[environment]
image = "docker://127.0.0.1:9/updraft/nosuch:latest"
[resources]
cpus = 1
memory = "100 MB"
disk = "200 MB"
[run]
pool = "condor"
attempts = 1
`;

test('57: a held job is stopped', async (t) => {
  const harness = await condorHarness(t, { 'updraft.toml': badImage });
  if (harness === undefined) return;
  const run = await harness.submit();
  const { held } = onlyJob(await harness.until(run, (state) => onlyJob(state).held !== undefined));
  const mine = ['-constraint', `UpdraftRun == "${path.basename(run)}"`];
  const reason = await harness.tool('condor_q', '-hold', ...mine, '-af', 'HoldReason');
  assert.match(reason, /^started 1 time; the last attempt ended: Error from .*: Singularity test failed/);
  assert.match(await harness.tool('condor_q', '-hold', ...mine), / 3\/45 +started 1 time; the last attempt/);
  assert.equal(held?.message, reason);
  const { env, folder: cwd } = harness;
  const status = await runCommand(await import('../../src/cli/commands/status.ts'), [], { env, cwd });
  assert.match(status.out, /held .*started 1 time; the last attempt ended/);
  const said = await runCommand(await import('../../src/cli/commands/stop.ts'), ['--yes'], { env, cwd });
  assert.match(said.out, /^stopped 1 job of held-\S+ \(1 of them held\); none is left in the queue\n$/);
  assert.equal(await harness.tool('condor_q', ...mine, '-af', 'ClusterId'), '');
  const again = await runCommand(await import('../../src/cli/commands/stop.ts'), ['--yes'], { env, cwd });
  assert.match(again.err, /nothing to stop in held-\S+: it has ended/);
});
