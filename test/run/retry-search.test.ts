import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { loadPlan } from '../../src/job/load-plan.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { isIn, RunHarness } from './run-harness.ts';

const search = (more: string): string =>
  `[resources]\ncpus = 1\nmemory = "10 MB"\n[search]\nmetric = "val_accuracy"\n${more}`;
const ranges = 'ranges = { lr = { log = [1e-4, 0.1] } }\n';

test('trials are added to a search that has ended, and to one that runs, as a longer list has them', async (t) => {
  const harness = await RunHarness.make(t);
  const command =
    'echo {lr} >> "$LOG"; while [ {index} = 3 -a ! -e "$GO" ]; do sleep 0.05; done; echo 1 > model.pt';
  await harness.describe(command, '', search(`trials = 2\n${ranges}`));
  assert.equal((await harness.updraft('run')).code, 0);
  const [run] = await harness.runs();
  const dry = await harness.updraft('retry', '--trials', '+2', '--dry-run');
  assert.match(dry.err, /2 trials to add: 0002 \(lr=\S+\), 0003 \(lr=/);
  assert.equal((await readRunState(run!)).jobs.length, 2);

  const added = await harness.updraft('retry', '--trials', '+2', '--yes');
  assert.match(added.out, /queued 2 trials of bench-/, added.err);
  await harness.until(run!, isIn('0003', 'training'));
  const more = JSON.parse((await harness.updraft('retry', '--trials', '+1', '--json')).out) as {
    queued: string[];
  };
  assert.deepEqual(more.queued, ['0004']);
  await writeFile(harness.env['GO']!, '');
  await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  const { jobs, rounds, endedAt } = await readRunState(run!);
  const whole = await loadPlan(harness.folder, { set: ['search.trials=5'] });
  assert.deepEqual(
    jobs.map(({ id, outcome, parameters }) => [id, outcome, parameters]),
    whole.jobs.map(({ id, parameters }) => [id, 'success', parameters]),
  );
  assert.deepEqual([rounds, endedAt === undefined], [3, false]);
  assert.ok(jobs[4]!.from > jobs[0]!.to, 'an added trial has not waited since the run began');
  assert.equal(new Set(await harness.trainings()).size, 5);
  assert.match((await harness.updraft('retry')).err, /every job has a valid result/);
});

test('trials are not added where there is no search, or no combination is left', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo 1 > model.pt');
  await harness.updraft('run');
  const none = await harness.updraft('retry', '--trials', '+2', '--yes');
  assert.deepEqual([none.code, /this run has no \[search\]/.test(none.err)], [2, true], none.err);
  await harness.describe(
    'echo {lr} > model.pt',
    '',
    search('method = "grid"\nranges = { lr = [1, 2, 3] }\ntrials = 2\n'),
  );
  await harness.updraft('run');
  const many = await harness.updraft('retry', '--trials', '+2', '--yes');
  assert.match(many.err, /the ranges have 3 combinations, and 2 of them are trials[\s\S]*--trials \+1/);
  assert.match((await harness.updraft('retry', '--trials', '+1', '--yes')).out, /queued 1 trial/);
  const [run] = (await harness.runs())
    .filter((one) => path.basename(one) > 'bench')
    .sort()
    .reverse();
  await harness.until(run!, ({ tally }) => tally.success === 3);
  assert.match((await harness.updraft('retry', '--trials', '+1', '--yes')).err, /widen a range/);
  assert.match((await harness.updraft('retry', '--trials', '5')).err, /such as \+50/);
  assert.match(
    (await harness.updraft('retry', '.', '0', '--trials', '+1')).err,
    /no run|goes with no named job/,
  );
});
