import assert from 'node:assert/strict';
import { appendFile, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { loadRun } from '../../src/journal/load-run.ts';
import { isIn, RunBench } from './run-bench.ts';

const untilGo = 'while [ ! -e "$GO" ]; do sleep 0.02; done; echo 1 > model.pt';

test('a finished run is told and not done again, until --new asks for another', async (t) => {
  const bench = await RunBench.make(t);
  await bench.describe('echo 1 > model.pt');
  const first = await bench.updraft('run');
  assert.equal(first.code, 0);
  assert.match(first.err, /started bench-\S+: the first run under this name/);
  const again = await bench.updraft('run');
  assert.equal(again.code, 0);
  assert.match(
    again.err,
    /already finished: bench-\S+: nothing changed since it ended; --new starts another/,
  );
  assert.equal((await bench.runs()).length, 1);
  const another = await bench.updraft('run', '--new');
  assert.match(another.err, /another run was asked for, beside bench-/);
  const runs = await bench.runs();
  assert.equal(runs.length, 2);
  for (const run of runs) assert.equal((await loadRun(run)).tally.success, 1);
});

test('the same command given several times at once makes one run', async (t) => {
  const bench = await RunBench.make(t);
  await bench.describe('echo trained >> "$LOG"; echo 1 > model.pt');
  const said = await Promise.all(Array.from({ length: 3 }, () => bench.updraft('run')));
  assert.deepEqual(
    said.map(({ code }) => code),
    [0, 0, 0],
  );
  assert.equal(said.filter(({ err }) => err.startsWith('started ')).length, 1);
  assert.equal((await bench.runs()).length, 1);
  assert.deepEqual(await bench.trainings(), ['trained']);
});

test('a changed plan starts another run beside the one that goes on, and says what changed', async (t) => {
  const bench = await RunBench.make(t);
  await writeFile(path.join(bench.folder, 'train.sh'), untilGo);
  await bench.describe('sh train.sh');
  const file = path.join(bench.folder, 'updraft.toml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/command = .*/, 'command = "sh train.sh"\nfiles = ["train.sh"]'));
  await bench.updraft('submit');
  const [run] = await bench.runs();
  await bench.until(run!, isIn('0000', 'training'));
  await appendFile(path.join(bench.folder, 'train.sh'), '\necho changed >> "$LOG"\n');
  const second = await bench.updraft('submit');
  assert.match(second.err, /changed since bench-\S+, which has not ended: train\.sh;/);
  assert.equal((await bench.runs()).length, 2);
  await writeFile(bench.env['GO']!, '');
  for (const one of await bench.runs())
    assert.equal((await bench.until(one, ({ endedAt }) => endedAt !== undefined)).tally.success, 1);
  // The first run trained with the file as it was when it was made.
  assert.deepEqual(await bench.trainings(), ['changed']);
});

test('a run can be moved, and its journal still tells where the results are', async (t) => {
  const bench = await RunBench.make(t);
  await bench.describe('echo 1 > model.pt');
  await bench.updraft('run');
  const [run] = await bench.runs();
  const moved = path.join(bench.folder, 'kept');
  await rename(run!, moved);
  const { results } = (await loadRun(moved)).jobs[0]!;
  assert.equal(await readFile(path.join(moved, results!, 'model.pt'), 'utf8'), '1\n');
});

test('a missing file, a missing job file and an unknown pool are told before anything is made', async (t) => {
  const bench = await RunBench.make(t);
  assert.equal((await bench.updraft('submit')).code, 3);
  await bench.describe('true', '', '[resources]\ncpus = 1');
  const file = path.join(bench.folder, 'updraft.toml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('"local"', '"slurm"'));
  const slurm = await bench.updraft('submit');
  assert.equal(slurm.code, 4);
  assert.match(slurm.err, /there is no Slurm on this machine.*\n.*fix: log in to a login node/);
  await writeFile(file, text.replace(/outputs = .*/, 'outputs = ["model.pt"]\nfiles = ["main.py"]'));
  const missing = await bench.updraft('submit');
  assert.equal(missing.code, 3);
  assert.match(missing.err, /main\.py/);
  assert.deepEqual(await bench.runs(), []);
});

test('a supervisor that cannot start is told with what it said', async (t) => {
  const bench = await RunBench.make(t);
  await bench.describe('echo 1 > model.pt');
  const run = await bench.createRun();
  await rm(path.join(bench.folder, 'agent'));
  const { code, err } = await bench.updraft('submit');
  assert.equal(code, 4);
  assert.match(
    err,
    /the supervisor of \S+ could not be started: .*UPDRAFT_AGENT names \S+, which cannot be executed/,
  );
  assert.equal((await loadRun(run)).tally.waiting, 1);
});

test('an unfinished run is taken up by its folder, though its job file has changed', async (t) => {
  const bench = await RunBench.make(t);
  await bench.describe(untilGo);
  await bench.updraft('submit');
  const [run] = await bench.runs();
  await bench.until(run!, isIn('0000', 'training'));
  await bench.killSupervisor(run!);
  await bench.describe('echo something else');
  const status = await bench.updraft('status');
  assert.match(status.err, /nobody works on it any more.*\n.*updraft submit runs\/bench-/);
  await writeFile(bench.env['GO']!, '');
  const { code, err } = await bench.updraft('run', path.relative(bench.folder, run!));
  assert.equal(code, 0);
  assert.match(err, /going on with bench-/);
  assert.equal((await bench.runs()).length, 1);
  const wrong = await bench.updraft('submit', '--new', run!);
  assert.equal(wrong.code, 2);
});
