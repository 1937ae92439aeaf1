import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { readRunState } from '../../src/run/run-states.ts';
import { condorHarness, onlyJob } from '../condor/condor-harness.ts';
import { configureSubmit } from '../../src/cli/commands/run.ts';
import { runCommand } from '../cli/run-command.ts';
import { makeReadOnly, resizeDisk, smallDisk } from '../small-disk.ts';
import { eventually, isIn, RunHarness } from '../run/run-harness.ts';

const submit = { configure: configureSubmit };

test('53: no room in the run folder for the results', async (t) => {
  const disk = await smallDisk(t, '240k');
  if (disk === undefined) return;
  const harness = await RunHarness.make(t);
  await symlink(disk, path.join(harness.folder, 'runs'));
  await harness.describe(
    'echo trained >> "$LOG"; head -c 400000 /dev/zero > model.pt',
    'jobs = 2',
    `[resources]\ncpus = ${os.availableParallelism()}\nmemory = "10 MB"`,
  );
  const { code, out, err } = await harness.updraft('run');
  assert.equal(code, 1, err);
  assert.deepEqual(
    await harness.trainings(),
    ['trained'],
    'no training from nothing, and none of the second job',
  );
  const said =
    /the results do not fit into \S+\/0000: no space left on \S+small-disk-\S+ \(tmpfs\) \(\S+ kB free, 400 kB needed\); the results are kept in (\S+)/;
  const [, kept = ''] = said.exec(`${out}${err}`) ?? [];
  assert.notEqual(kept, '', `${out}${err}`);
  const why = await harness.updraft('why', '0');
  assert.match(why.out, said);
  assert.match(why.out, /free space or quota .*`updraft retry`/is);
  assert.doesNotMatch(`${out}${err}${why.out}`, /bug in Updraft|mistake/);
  assert.ok(resizeDisk(disk, '8m'));
  const retry = await harness.updraft('retry', '--yes');
  assert.equal(retry.code, 0, retry.err);
  const [run] = await harness.runs();
  const ended = await harness.until(run!, ({ endedAt, rounds }) => endedAt !== undefined && rounds === 2);
  assert.equal(ended.tally.success, 2);
  // The first job's results were only returned.
  assert.deepEqual(await harness.trainings(), ['trained', 'trained']);
  assert.equal((await readFile(path.join(run!, 'results/0000/model.pt'))).length, 400_000);
  await assert.rejects(readdir(kept), { code: 'ENOENT' });
});

test('53: `runs rm` also removes what was kept elsewhere', async (t) => {
  const disk = await smallDisk(t, '240k');
  if (disk === undefined) return;
  const harness = await RunHarness.make(t);
  await symlink(disk, path.join(harness.folder, 'runs'));
  await harness.describe('head -c 400000 /dev/zero > model.pt');
  await harness.updraft('run');
  const left = async (): Promise<string[]> =>
    (await readdir(harness.scratch)).filter((name) => name.startsWith('updraft-kept-'));
  assert.equal((await left()).length, 1);
  const [run = ''] = await harness.runs();
  const { code, err } = await harness.updraft('runs', 'rm', path.basename(run), '--yes');
  assert.equal(code, 0, err);
  assert.deepEqual(await left(), []);
});

test("`runs rm` of a stranger's run removes no folder that its work order leads to", async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo 1 > model.pt');
  await harness.updraft('run');
  const [run = ''] = await harness.runs();
  const edit = async (name: string, change: (text: string) => string): Promise<void> =>
    await writeFile(path.join(run, name), change(await readFile(path.join(run, name), 'utf8')));
  const precious = path.join(harness.scratch, 'precious');
  await mkdir(precious);
  const full = '"outcome":"failed","fault":{"kind":"run-folder-full","message":"full","retryable":false}';
  await edit('journal.jsonl', (text) => text.replaceAll('"outcome":"success"', full));
  await edit('jobs/0000/attempt-1/order.json', (text) =>
    text.replace('"0000"', `"/../..${precious}"`).replace(/("scratchParent": ).*/, '$1"/one/two",'),
  );
  const { code, err } = await harness.updraft('runs', 'rm', path.basename(run), '--yes');
  assert.equal(code, 0, err);
  assert.deepEqual(await harness.runs(), []);
  assert.deepEqual(await readdir(precious), []);
});

test('43: a home that cannot be written: no run is created', async (t) => {
  const disk = await smallDisk(t, '40k');
  if (disk === undefined || !makeReadOnly(disk)) return;
  const harness = await RunHarness.make(t);
  Object.assign(harness.env, { HOME: disk, XDG_STATE_HOME: '' });
  await harness.describe('echo 1 > model.pt');
  const { code, err } = await harness.updraft('run');
  assert.equal(code, 4);
  assert.match(
    err,
    /local-pool\S*, where .* cannot be written: its file system is read-only\n {2}fix: set XDG_STATE_HOME/,
  );
  assert.deepEqual(await harness.runs(), []);
});

test('53: no room in the run folder for the run itself', async (t) => {
  for (const size of ['8k', '40k']) {
    const disk = await smallDisk(t, size);
    if (disk === undefined) return;
    const harness = await RunHarness.make(t);
    await symlink(disk, path.join(harness.folder, 'runs'));
    await harness.describe('echo trained >> "$LOG"; echo 1 > model.pt', 'jobs = 4');
    const { code, out, err } = await harness.updraft('run');
    assert.notEqual(code, 0, size);
    const said = `${out}${err}`;
    assert.match(said, /no space left on \S+small-disk-\S+ \(tmpfs\) \(/, `${size}: ${said}`);
    assert.doesNotMatch(said, /bug in Updraft|mistake|internal/, size);
  }
});

test('54: a changed job file beside a run that goes on', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(endless);
  await harness.updraft('submit');
  await harness.describe(`${endless}; true`);
  const questions: string[] = [];
  const asked = {
    cwd: harness.folder,
    env: harness.env,
    ask: (question: string) => Promise.resolve((questions.push(question), 'n')),
  };
  await assert.rejects(runCommand(submit, [], asked), /nothing was started/);
  assert.match(
    questions[0] ?? '',
    /^bench-\S+ has not ended, and these changed since it was started: \[train\]\. Start a second run beside it\? \[y\/N\] $/,
  );
  const script = await harness.updraft('run');
  assert.deepEqual([script.code, (await harness.runs()).length], [2, 1]);
  // The same command twice at the same moment joins.
  await harness.describe(endless);
  const same = await harness.updraft('submit');
  assert.match(same.err, /resuming bench-/);
});

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
  // Supervisor, agent, training and its child.
  await eventually(async () => (await harness.processes()).length === 0);
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
  assert.equal(first?.ending, 'lost');
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
  assert.match(reason, /^started \d+ times?; the last attempt ended: Error from .*: Singularity test failed/);
  assert.match(
    await harness.tool('condor_q', '-hold', ...mine),
    / 3\/45 +started \d+ times?; the last attempt/,
  );
  assert.equal(held?.message, reason);
  const { env, folder: cwd } = harness;
  const status = await runCommand(await import('../../src/cli/commands/status.ts'), [], { env, cwd });
  assert.match(status.out, /held .*started \d+ times?; the last attempt ended/);
  const said = await runCommand(await import('../../src/cli/commands/stop.ts'), ['--yes'], { env, cwd });
  assert.match(said.out, /^stopped 1 job of held-\S+ \(1 of them held\); none is left in the queue\n$/);
  assert.equal(await harness.tool('condor_q', ...mine, '-af', 'ClusterId'), '');
  const again = await runCommand(await import('../../src/cli/commands/stop.ts'), ['--yes'], { env, cwd });
  assert.match(again.err, /nothing to stop in held-\S+: it has ended/);
});
