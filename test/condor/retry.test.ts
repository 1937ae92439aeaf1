import assert from 'node:assert/strict';
import { readFile, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@updraft/base';
import * as logs from '../../src/cli/commands/logs.ts';
import * as report from '../../src/cli/commands/report.ts';
import * as retry from '../../src/cli/commands/retry.ts';
import * as stop from '../../src/cli/commands/stop.ts';
import * as why from '../../src/cli/commands/why.ts';
import { readJournal } from '@updraft/account/journal';
import { retryRun } from '../../src/run/rounds.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { runCommand } from '../cli/run-command.ts';
import { condorHarness, result, type CondorHarness } from './condor-harness.ts';

const toml = `
name = "again"
[train]
command = "sh train.sh {index}"
files = ["train.sh"]
outputs = ["out.txt"]
checkpoint = "ckpt"
[run]
pool = "condor"
jobs = 3
`;
const failing =
  'echo "$1" > ckpt/was; [ "$1" = 1 ] && { echo "no such layer" >&2; exit 3; }; echo 1 > out.txt';
const fixed = 'echo "fixed"; cat ckpt/was > out.txt';

const inHarness = (harness: CondorHarness) => ({
  cwd: harness.folder,
  env: harness.env,
  pid: process.pid,
  kill: (pid: number, signal: NodeJS.Signals) => void process.kill(pid, signal),
});
const clusters = async (run: string): Promise<number[]> => {
  const { entries } = await readJournal(path.join(run, 'journal.jsonl'));
  return entries.flatMap((entry) => (entry.kind === 'submitted' ? [entry.cluster] : []));
};

test('a failed job is retried in another cluster of the same run, and every command reads both', async (t) => {
  const harness = await condorHarness(t, { 'updraft.toml': toml, 'train.sh': failing });
  if (harness === undefined) return;
  const run = await harness.submit();
  assert.equal((await harness.finish(run)).tally.failed, 1);
  await writeFile(path.join(harness.folder, 'train.sh'), fixed);
  const reported = await runCommand(retry, ['--with-new-files', '--json'], inHarness(harness));
  assert.deepEqual((JSON.parse(reported.out) as { queued: string[] }).queued, ['0001']);
  const state = await harness.finish(run);
  assert.deepEqual(
    state.jobs.map(({ id, outcome, attempts }) => [
      id,
      outcome,
      attempts.map(({ number: attempt }) => attempt),
    ]),
    [
      ['0000', 'success', [1]],
      ['0001', 'success', [1, 2]],
      ['0002', 'success', [1]],
    ],
  );
  assert.equal(state.jobs[1]?.attempts[1]?.agent?.outcome, 'success');
  assert.equal(await result(run, 'out.txt', '0001'), '1\n');
  assert.equal((await clusters(run)).length, 2);
  assert.match((await runCommand(logs, ['1'], inHarness(harness))).out, /fixed/);
  assert.match((await runCommand(why, ['1'], inHarness(harness))).out, /0001 succeeded/);
  const figures = JSON.parse((await runCommand(report, ['--json'], inHarness(harness))).out) as {
    jobs: { total: number; success: number };
  };
  assert.deepEqual([figures.jobs.total, figures.jobs.success], [3, 3]);
  const nothing = await runCommand(retry, [], inHarness(harness));
  assert.match(nothing.err, /nothing to retry/);
});

test('a retry that died before the submission is finished by the next one, and no job is submitted twice', async (t) => {
  const harness = await condorHarness(t, { 'updraft.toml': toml, 'train.sh': failing });
  if (harness === undefined) return;
  const run = await harness.submit();
  await harness.finish(run);
  const killed = { ...harness.pool, submit: () => Promise.reject(new Error('killed')) };
  const wish = { jobs: ['0001'], change: {} };
  const context = { clock: systemClock, pid: process.pid };
  await assert.rejects(retryRun(run, killed, wish, context), /killed/);
  assert.equal((await clusters(run)).length, 1);
  assert.deepEqual(await retryRun(run, harness.pool, wish, context), { queued: [], released: [] });
  const job = (await harness.finish(run)).jobs[1];
  assert.deepEqual([job?.outcome, job?.attempts.length, (await clusters(run)).length], ['failed', 2, 2]);
});

test('a permanently held job is changed and released, and keeps its place in the queue', async (t) => {
  const file = 'data.txt';
  const harness = await condorHarness(t, { [file]: 'there\n' });
  if (harness === undefined) return;
  const data = path.join(harness.folder, file);
  await writeFile(
    path.join(harness.folder, 'updraft.toml'),
    `name = "held"
[train]\ncommand = "cat in/${file} > out.txt"\noutputs = ["out.txt"]
[data.one]\nurl = "file://${data}"\ninto = "in"\nmethod = "native"
[resources]\nmemory = "250 MB"
[run]\npool = "condor"\n`,
  );
  const run = await harness.submit();
  await rename(data, `${data}.away`);
  const held = (await harness.finish(run)).jobs[0];
  assert.notEqual(held?.held, undefined);
  const reported = await runCommand(why, ['0'], inHarness(harness));
  assert.ok(
    reported.out.replaceAll(/\s+/g, ' ').includes(`${data} does not exist on the access point`),
    reported.out,
  );
  const dry = await runCommand(retry, ['--dry-run'], inHarness(harness));
  assert.match(dry.out, /0000 held: an input file is missing on the access point/);
  await rename(`${data}.away`, data);
  const retried = await runCommand(retry, ['--memory', '300 MB', '--json'], inHarness(harness));
  assert.deepEqual((JSON.parse(retried.out) as { released: string[] }).released, ['0000']);
  const job = (await harness.finish(run)).jobs[0];
  assert.deepEqual([job?.outcome, job?.attempts.length], ['success', 2]);
  assert.equal((await clusters(run)).length, 1);
  const [cluster] = await clusters(run);
  assert.equal((await harness.ask(`ClusterId == ${cluster ?? ''}`, 'RequestMemory'))[0], '287');
});

test('a job that failed to start too often is released with what it saved, and so is one that goes on', async (t) => {
  const harness = await condorHarness(t, { 'data.txt': 'there\n' });
  if (harness === undefined) return;
  const { here, onWorker } = await harness.meetingPlace();
  const data = path.join(harness.folder, 'data.txt');
  const train = `n=$(cat ckpt/step 2>/dev/null || echo 0); echo from $n
trap 'exit 1' TERM
while [ ! -e '${onWorker}/go' ]; do n=$((n+1)); echo "step $n"; echo $n > ckpt/part; mv ckpt/part ckpt/step
sleep 0.3 & wait $!; done; echo $n > out.txt`;
  await writeFile(path.join(harness.folder, 'train.sh'), train);
  await writeFile(
    path.join(harness.folder, 'updraft.toml'),
    `${toml.replace('jobs = 3', 'attempts = 2')}
[data.one]\nurl = "file://${data}"\ninto = "in"\nmethod = "native"\n`,
  );
  const run = await harness.submit();
  const running = await harness.until(
    run,
    ({ jobs }) => (jobs[0]?.attempts[0]?.agent?.training?.step ?? 0) > 3,
  );
  assert.equal(running.jobs[0]?.status, 'running');
  assert.deepEqual(
    await harness.pool.release(run, ['0000'], {}),
    [],
    'it runs: nothing is left to submit again',
  );
  await rename(data, `${data}.away`);
  await harness.tool('condor_vacate_job', '-constraint', `UpdraftRun == "${path.basename(run)}"`);
  for (const failed of [1, 2]) {
    const [held] = (await harness.finish(run)).jobs;
    assert.notEqual(held?.held, undefined, `${failed}: ${JSON.stringify(held)}`);
    if (failed === 2) await rename(`${data}.away`, data);
    await writeFile(path.join(here, 'go'), '');
    const retried = await runCommand(retry, ['--json'], inHarness(harness));
    assert.deepEqual((JSON.parse(retried.out) as { released: string[] }).released, ['0000'], retried.err);
  }
  const job = (await harness.finish(run)).jobs[0];
  assert.equal(job?.outcome, 'success', JSON.stringify(job));
  assert.equal(job.attempts.at(-1)?.agent?.resumed?.savedBy, 1);
  assert.equal((await clusters(run)).length, 1);
});

test('stopping a retried job removes it from the cluster it is in now', async (t) => {
  const waiting = 'echo "$1" > ckpt/was; [ -e ckpt/again ] && sleep 600; touch ckpt/again; exit 3';
  const harness = await condorHarness(t, {
    'updraft.toml': toml.replace('jobs = 3', 'jobs = 1'),
    'train.sh': waiting,
  });
  if (harness === undefined) return;
  const run = await harness.submit();
  await harness.finish(run);
  await runCommand(retry, ['--json'], inHarness(harness));
  await harness.until(run, ({ jobs }) => jobs[0]?.attempts[1]?.agent?.phase === 'training');
  await harness.pool.stop(run, ['0000']);
  const [job] = (await harness.finish(run)).jobs;
  assert.deepEqual([job?.outcome, job?.attempts.length], ['removed', 2]);
  assert.match(await readFile(path.join(run, 'events.log'), 'utf8'), /updraft stop/);
  assert.notEqual((await readRunState(run)).endedAt, undefined);
});

test('a running job that is stopped returns its checkpoint and its journal, and a retry resumes from it', async (t) => {
  const saving = `[ -f ckpt/step ] && { cp ckpt/step out.txt; exit 0; }
trap 'echo saved > ckpt/step; exit 1' TERM
echo step 1; while :; do sleep 0.1; done`;
  const harness = await condorHarness(t, {
    'updraft.toml': toml.replace('jobs = 3', 'jobs = 2'),
    'train.sh': saving,
  });
  if (harness === undefined) return;
  const run = await harness.submit();
  await harness.until(run, ({ jobs }) =>
    jobs.every(({ attempts: [one] }) => one?.agent?.phase === 'training'),
  );
  await runCommand(stop, ['--yes'], inHarness(harness));
  const stopped = await harness.finish(run);
  assert.deepEqual(
    stopped.jobs.map(({ outcome, attempts: [one] }) => [outcome, one?.agent?.checkpoint?.files]),
    [
      ['removed', 1],
      ['removed', 1],
    ],
  );
  await runCommand(retry, ['1', '--json'], inHarness(harness));
  const job = (await harness.until(run, ({ jobs }) => jobs[1]?.outcome === 'success')).jobs[1];
  assert.equal(await result(run, 'out.txt', '0001'), 'saved\n');
  assert.equal(job?.attempts[1]?.agent?.resumed?.savedBy, 1);
});
