import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFile, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { loadRun } from '@updraft/account/journal';
import { supervisorState } from '../../src/pool/local/local-pool.ts';
import { eventually, isIn, RunHarness } from './run-harness.ts';

const untilGo = 'while [ ! -e "$GO" ]; do sleep 0.02; done; echo 1 > model.pt';

test('a finished run is reported and not repeated, unless --new asks for another', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo 1 > model.pt');
  const first = await harness.updraft('run');
  assert.equal(first.code, 0);
  assert.match(first.err, /started bench-\S+: the first run under this name/);
  const again = await harness.updraft('run');
  assert.equal(again.code, 0);
  assert.match(
    again.err,
    /already finished: bench-\S+: nothing changed since it ended; --new starts another/,
  );
  assert.equal((await harness.runs()).length, 1);
  const another = await harness.updraft('run', '--new');
  assert.match(another.err, /another run was asked for, beside bench-/);
  const runs = await harness.runs();
  assert.equal(runs.length, 2);
  for (const run of runs) assert.equal((await loadRun(run)).tally.success, 1);
});

test('a new [results] counts for the run of the same job file', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo epoch 1 val_f1=0.1; echo epoch 2 val_f1=0.2; echo 1 > model.pt');
  await harness.updraft('run');
  const best = async (): Promise<unknown> => {
    const { out } = await harness.updraft('results', '--json');
    return (JSON.parse(out) as { best: unknown }[])[0]?.best;
  };
  assert.deepEqual(await best(), { val_f1: 0.2 });
  await appendFile(path.join(harness.folder, 'updraft.toml'), '[results]\nsmaller_is_better = ["f1"]\n');
  const { err, code } = await harness.updraft('submit');
  assert.equal(code, 0);
  assert.match(err, /already finished: bench-\S+: only \[results\] changed since it ended; --new/);
  assert.deepEqual(await best(), { val_f1: 0.1 });
  assert.match((await harness.updraft('submit')).err, /nothing changed since it ended/);
});

test('the same command given several times at once creates one run', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo trained >> "$LOG"; echo 1 > model.pt');
  const said = await Promise.all(Array.from({ length: 3 }, () => harness.updraft('run')));
  assert.deepEqual(
    said.map(({ code }) => code),
    [0, 0, 0],
  );
  assert.equal(said.filter(({ err }) => /^started /m.test(err)).length, 1, said.map(({ err }) => err).join());
  assert.equal((await harness.runs()).length, 1);
  assert.deepEqual(await harness.trainings(), ['trained']);
});

test('a changed plan starts another run beside one that is still running only if asked, and says what changed', async (t) => {
  const harness = await RunHarness.make(t);
  await writeFile(path.join(harness.folder, 'train.sh'), untilGo);
  await harness.describe('sh train.sh');
  const file = path.join(harness.folder, 'updraft.toml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace(/command = .*/, 'command = "sh train.sh"\nfiles = ["train.sh"]'));
  await harness.updraft('submit');
  const [run] = await harness.runs();
  await harness.until(run!, isIn('0000', 'training'));
  await appendFile(path.join(harness.folder, 'train.sh'), '\necho changed >> "$LOG"\n');
  const refused = await harness.updraft('submit');
  assert.equal(refused.code, 2);
  assert.match(
    refused.err,
    /bench-\S+ has not ended, and these changed since it was started: train\.sh\n  fix: add --new to start a second run beside it; /,
  );
  assert.equal((await harness.runs()).length, 1);
  const second = await harness.updraft('submit', '--new');
  assert.match(second.err, /changed since bench-\S+, which has not ended: train\.sh;/);
  assert.equal((await harness.runs()).length, 2);
  await writeFile(harness.env['GO']!, '');
  for (const one of await harness.runs())
    assert.equal((await harness.until(one, ({ endedAt }) => endedAt !== undefined)).tally.success, 1);
  // The first run trained with its own copy of the file.
  assert.deepEqual(await harness.trainings(), ['changed']);
});

test('a run can be moved, and its journal still names the results', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo 1 > model.pt');
  await harness.updraft('run');
  const [run] = await harness.runs();
  const moved = path.join(harness.folder, 'kept');
  await rename(run!, moved);
  const { results } = (await loadRun(moved)).jobs[0]!;
  assert.equal(await readFile(path.join(moved, results!, 'model.pt'), 'utf8'), '1\n');
});

test('a missing file, a missing job file and an unknown pool are reported before anything is created', async (t) => {
  const harness = await RunHarness.make(t);
  assert.equal((await harness.updraft('submit')).code, 3);
  await harness.describe('true', '', '[resources]\ncpus = 1');
  const file = path.join(harness.folder, 'updraft.toml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('"local"', '"slurm"'));
  const slurm = await harness.updraft('submit');
  assert.equal(slurm.code, 4);
  assert.match(slurm.err, /there is no Slurm on this machine.*\n.*fix: log in to a login node/);
  await writeFile(file, text.replace(/outputs = .*/, 'outputs = ["model.pt"]\nfiles = ["main.py"]'));
  const missing = await harness.updraft('submit');
  assert.equal(missing.code, 3);
  assert.match(missing.err, /main\.py/);
  assert.deepEqual(await harness.runs(), []);
});

test('a supervisor that cannot start is reported with its error', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo 1 > model.pt');
  const run = await harness.createRun();
  await rm(path.join(harness.folder, 'agent'));
  const { code, err } = await harness.updraft('submit');
  assert.equal(code, 4);
  assert.match(err, /cannot start the supervisor of \S+: .*UPDRAFT_AGENT: \S+ is not executable/);
  assert.equal((await loadRun(run)).tally.waiting, 1);
});

test('an unfinished run is resumed by its folder, even if its job file has changed', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(untilGo);
  await harness.updraft('submit');
  const [run] = await harness.runs();
  await harness.until(run!, isIn('0000', 'training'));
  await harness.killSupervisor(run!);
  await harness.describe('echo something else');
  const status = await harness.updraft('status');
  assert.match(status.err, /the run has no supervisor.*\n.*updraft submit runs\/bench-/);
  await writeFile(harness.env['GO']!, '');
  const { code, err } = await harness.updraft('run', path.relative(harness.folder, run!));
  assert.equal(code, 0);
  assert.match(err, /resuming bench-/);
  assert.equal((await harness.runs()).length, 1);
  const wrong = await harness.updraft('submit', '--new', run!);
  assert.equal(wrong.code, 2);
});

test('watch continues a run whose supervisor has died', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(untilGo);
  await harness.updraft('submit');
  const [run] = await harness.runs();
  await harness.until(run!, isIn('0000', 'training'));
  await harness.killSupervisor(run!);
  const list = await harness.updraft('runs');
  assert.match(list.out, /1 running .* supervisor died: updraft watch continues it/);
  const below = path.join(harness.folder, 'src');
  await mkdir(below);
  const looking = spawn('updraft', ['watch'], { cwd: below, env: harness.env });
  t.after(() => looking.kill('SIGKILL'));
  let said = '';
  looking.stderr.setEncoding('utf8').on('data', (text: string) => (said += text));
  await eventually(() => /the run has no supervisor/.test(said));
  looking.kill('SIGTERM');
  assert.deepEqual(
    await once(looking, 'exit'),
    [5, null],
    'from below, where nobody named it, it only looks',
  );
  assert.equal((await supervisorState(run!)).state, 'died');
  await writeFile(harness.env['GO']!, '');
  const { code, out } = await harness.updraft('watch');
  assert.match(out, /0000 try 1 success/);
  assert.equal(code, 0);
});
