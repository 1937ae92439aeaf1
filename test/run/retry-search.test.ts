import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { lastRung, stoppedEarly } from '@updraft/account/journal';
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
  const [first] = await harness.runs();
  const none = await harness.updraft('retry', '--trials', '+2', '--yes');
  assert.deepEqual([none.code, /this run has no \[search\]/.test(none.err)], [2, true], none.err);
  await harness.describe(
    'echo {lr} > model.pt',
    '',
    search('method = "grid"\nranges = { lr = [1, 2, 3] }\ntrials = 2\n'),
  );
  await harness.updraft('run');
  const run = (await harness.runs()).find((one) => one !== first);
  const retry = (...words: string[]) => harness.updraft('retry', path.basename(run!), ...words, '--yes');
  const many = await retry('--trials', '+2');
  assert.match(many.err, /the ranges have 3 combinations, and 2 of them are trials[\s\S]*--trials \+1/);
  assert.match((await retry('--trials', '+1')).out, /queued 1 trial/);
  await harness.until(run!, ({ tally }) => tally.success === 3);
  assert.match((await retry('--trials', '+1')).err, /widen a range/);
  assert.match((await retry('--trials', '5')).err, /such as \+50/);
  assert.match((await retry('0', '--trials', '+1')).err, /without naming jobs/);
});

/** Saves each epoch, resumes; stays after its first as long as it may not go on, and leaves when it is asked to. */
const train = `trap 'exit 85' TERM
n=$(cat ckpt/n 2> /dev/null || echo 0)
while [ $n -lt $2 ]; do
  while [ $1-$n = 1-0 ] && [ ! -e "$GO" ]; do sleep 0.05; done
  while [ $1-$n-$2 = 1-1-2 ]; do sleep 0.05; done
  n=$((n + 1)); echo "$1-$n" >> "$LOG"; echo $n > ckpt/n.part; mv ckpt/n.part ckpt/n
  echo "epoch $n val_accuracy 0.$((8 - $1))$n"
done
echo $n > model.pt
`;

test('the best trials go on from their checkpoints with a larger budget, and are not stopped again', async (t) => {
  const harness = await RunHarness.make(t);
  await writeFile(path.join(harness.folder, 'train.sh'), train);
  const rungs = `trials = 2\nepochs = [1, 2]\neta = 2\n${ranges}`;
  await harness.describe('sh train.sh {index} {epochs}', '', search(rungs));
  const file = path.join(harness.folder, 'updraft.toml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('outputs =', 'files = ["train.sh"]\ncheckpoint = "ckpt"\noutputs ='));
  await harness.updraft('submit');
  const [run] = await harness.runs();
  await harness.until(run!, ({ tally }) => tally.success === 1);
  await writeFile(harness.env['GO']!, '');
  await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  const ended = await readRunState(run!);
  assert.deepEqual(
    ended.jobs.map(stoppedEarly).map((one) => one?.rung),
    [undefined, 1],
  );

  const plain = await harness.updraft('retry', path.basename(run!), '1', '--yes');
  assert.match(plain.err, /0001 is left alone: it was stopped early: --top and --budget let it go on/);
  assert.match(
    (await harness.updraft('retry', '--top', '1', '--dry-run', '--budget', '2x')).err,
    /1 trial to go on: 0000 /,
  );
  assert.match(
    (await harness.updraft('retry', '--top', '1', '--yes')).err,
    /--trials, or by --top with --budget/,
  );
  const more = await harness.updraft('retry', '--top', '5', '--budget', '2x', '--yes');
  assert.match(more.out, /queued 2 trials/, more.err);
  const longer = await harness.until(run!, ({ endedAt, rounds }) => endedAt !== undefined && rounds === 2);
  const { jobs } = await readRunState(run!);
  assert.deepEqual(
    jobs.map((job) => [job.outcome, stoppedEarly(job), lastRung(job)?.at, job.parameters?.['epochs']]),
    [
      ['success', undefined, 4, 4],
      ['success', undefined, 4, 4],
    ],
  );
  assert.equal(longer.tally.success, 2);
  assert.deepEqual((await harness.trainings()).sort(), [
    '0-1',
    '0-2',
    '0-3',
    '0-4',
    '1-1',
    '1-2',
    '1-3',
    '1-4',
  ]);
  assert.equal(await readFile(path.join(run!, 'results/0001/model.pt'), 'utf8'), '4\n');
});

test('a budget that the training does not hear of is not raised', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(
    'echo "epoch 1 val_accuracy 0.1"; echo 1 > model.pt',
    '',
    search(`trials = 1\nepochs = [1, 2]\n${ranges}`),
  );
  await harness.updraft('run');
  const refused = await harness.updraft('retry', '--top', '1', '--budget', '4x', '--yes');
  assert.match(refused.err, /does not say to the training how many epochs[\s\S]*--epochs \{epochs\}/);
});

test('a plan shows slot hours once an earlier run knows how long an epoch takes', async (t) => {
  const harness = await RunHarness.make(t);
  // Two lines that are read together say nothing of the time between them.
  const wait = 'while [ ! -e "$GO" ]; do sleep 0.05; done';
  const command = `echo "epoch 1 val_accuracy 0.1"; ${wait}; echo "epoch 2 val_accuracy 0.2"; echo 1 > model.pt`;
  await harness.describe(command, '', search(`trials = 30\nepochs = [1, 2]\n${ranges}`));
  const planned = async (): Promise<string> => (await harness.updraft('plan')).out.replaceAll(/\s+/g, ' ');
  assert.match(await planned(), /in slot hours: once a run of this name/);
  assert.equal((await harness.updraft('submit', '--set', 'search.trials=1')).code, 0);
  const [run] = await harness.runs();
  await harness.until(run!, ({ jobs }) => jobs[0]!.attempts.at(-1)?.agent?.training?.epoch === 1);
  await writeFile(harness.env['GO']!, '');
  await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  const text = await planned();
  const [, expected, most] =
    /about (\S+) slot hours are expected, (\S+) at most, with .* for an epoch as in bench-/.exec(text) ?? [];
  assert.ok(Number(expected) > 0 && Number(expected) < Number(most), text);
});
