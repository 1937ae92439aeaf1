import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { loadRun } from '../../src/journal/load-run.ts';
import { isIn, RunHarness } from './run-harness.ts';

/** A harness whose jobs run `train.sh` with their index. */
async function withScript(harness: RunHarness, script: string, jobs: number): Promise<void> {
  await writeFile(path.join(harness.folder, 'train.sh'), script);
  await harness.describe('sh train.sh {index}', `jobs = ${jobs}`);
  const file = path.join(harness.folder, 'updraft.toml');
  const text = await readFile(file, 'utf8');
  await writeFile(file, text.replace('outputs =', 'files = ["train.sh"]\ncheckpoint = "ckpt"\noutputs ='));
}

const failsForOne = 'echo "$1" >> "$LOG"; [ "$1" = 1 ] && { date > ckpt/mark; exit 3; }; echo 1 > model.pt';

interface RetryReport {
  jobs: { job: string; lack: string; cause: string; mustChange: string; changeIsMade?: boolean }[];
  queued: string[];
  changedFiles: string[];
}

test('only the failed job is tried again, in the same run, with the fixed script and its checkpoint', async (t) => {
  const harness = await RunHarness.make(t);
  await withScript(harness, failsForOne, 3);
  assert.equal((await harness.updraft('run')).code, 1);
  const [run] = await harness.runs();
  const dry = await harness.updraft('retry', '--dry-run');
  assert.deepEqual([dry.code, (await loadRun(run!)).rounds], [0, 1]);
  assert.match(dry.out, /1 of 3 jobs to try again\n\n0001 failed.*\n.*exit code 3/);
  assert.match(dry.out, /what must change: The training failed: fix the script/);
  await writeFile(path.join(harness.folder, 'train.sh'), '. ./log.sh; cp ckpt/mark model.pt');
  await writeFile(path.join(harness.folder, 'log.sh'), 'echo again >> "$LOG"');
  const jobFile = path.join(harness.folder, 'updraft.toml');
  const text = await readFile(jobFile, 'utf8');
  await writeFile(jobFile, text.replace('"train.sh"]', '"train.sh", "log.sh"]'));
  const reported = JSON.parse((await harness.updraft('retry', '--json', '--dry-run')).out) as RetryReport;
  assert.deepEqual([reported.changedFiles, reported.jobs[0]?.changeIsMade], [['log.sh', 'train.sh'], false]);
  const retried = await harness.updraft('retry', '--with-new-files');
  assert.equal(retried.code, 0, retried.err);
  assert.match(retried.out, /queued 1 job again of bench-/);
  const state = await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  assert.deepEqual((await harness.runs()).length, 1);
  assert.deepEqual(
    state.jobs.map(({ outcome, attempts }) => [outcome, attempts.at(-1)?.attempt]),
    [
      ['success', 1],
      ['success', 2],
      ['success', 1],
    ],
  );
  assert.equal((await harness.trainings()).filter((line) => line === 'again').length, 1);
  const nothing = await harness.updraft('retry');
  assert.deepEqual([nothing.code, nothing.out], [0, '']);
  assert.match(nothing.err, /nothing to retry in bench-\S+: every job has a valid result/);
});

test('stopped jobs and those whose results are gone are tried again; running jobs are left alone', async (t) => {
  const harness = await RunHarness.make(t);
  const script =
    'echo "$1" >> "$LOG"; [ "$1" = 1 ] && while [ ! -e "$GO" ]; do sleep 0.02; done; echo 1 > model.pt';
  await withScript(harness, script, 2);
  await harness.updraft('submit');
  const [run] = await harness.runs();
  await harness.until(run!, (state) => state.tally.success === 1 && isIn('0001', 'training')(state));
  await rm(path.join(run!, 'results/0000/model.pt'));
  const duringRun = JSON.parse((await harness.updraft('retry', '--json')).out) as RetryReport;
  assert.deepEqual(
    duringRun.jobs.map(({ job, lack }) => [job, lack]),
    [['0000', 'missing']],
  );
  const named = await harness.updraft('retry', '1');
  assert.deepEqual([named.code, named.out], [0, '']);
  assert.match(named.err, /0001 is left alone: it is running/);
  await harness.updraft('stop', path.basename(run!), '0001', '--yes');
  await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  const removed = JSON.parse((await harness.updraft('retry', '--json')).out) as RetryReport;
  assert.deepEqual(
    removed.jobs.map(({ job, lack }) => [job, lack]),
    [['0001', 'removed']],
  );
  await writeFile(harness.env['GO']!, '');
  const state = await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  assert.equal(state.tally.success, 2);
  assert.equal((await harness.trainings()).length, 4);
});

test('a retry changes the request for this and all later rounds, and refuses the impossible', async (t) => {
  const harness = await RunHarness.make(t);
  await withScript(harness, 'echo x >> "$LOG"; exit 3', 1);
  await harness.updraft('run');
  const [run] = await harness.runs();
  const order = async (attempt: number): Promise<{ memoryBytes: number; timeSeconds?: number }> => {
    const text = await readFile(path.join(run!, `jobs/0000/attempt-${attempt}/order.json`), 'utf8');
    return (JSON.parse(text) as { resources: { memoryBytes: number; timeSeconds?: number } }).resources;
  };
  await harness.updraft('retry', '--memory', '20 MB', '--time', '1h');
  await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  assert.deepEqual(
    [(await order(2)).memoryBytes, (await order(2)).timeSeconds, (await order(1)).memoryBytes],
    [20e6, 3600, 10e6],
  );
  await harness.updraft('retry');
  await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  assert.equal((await order(3)).memoryBytes, 20e6);
  const much = await harness.updraft('retry', '--memory', '900 TB');
  assert.equal(much.code, 4);
  assert.match(much.err, /memory = 900 TB/);
  assert.equal((await loadRun(run!)).rounds, 3);
  const unknown = await harness.updraft('retry', path.basename(run!), '7');
  assert.equal(unknown.code, 2);
  assert.match(unknown.err, /has no job "7"/);
  assert.equal((await harness.updraft('retry', '--memory', 'much')).code, 2);
});

test('two retries at the same time try the job once', async (t) => {
  const harness = await RunHarness.make(t);
  const failsOnce =
    'echo x >> "$LOG"; [ $(wc -l < "$LOG") = 1 ] && exit 3; while [ ! -e "$GO" ]; do sleep 0.02; done; echo 1 > model.pt';
  await withScript(harness, failsOnce, 1);
  await harness.updraft('run');
  const [run] = await harness.runs();
  const answers = await Promise.all([harness.updraft('retry', '--json'), harness.updraft('retry', '--json')]);
  const queued = answers.flatMap(({ out }) => (JSON.parse(out) as RetryReport).queued);
  assert.deepEqual(queued, ['0000']);
  await writeFile(harness.env['GO']!, '');
  const state = await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  assert.deepEqual([state.rounds, state.tally.success], [2, 1]);
  assert.equal((await harness.trainings()).length, 2);
});
