import assert from 'node:assert/strict';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { loadRun } from '@updraft/account/journal';
import { roundPlan } from '../../src/pool/pool.ts';
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
    state.jobs.map(({ outcome, attempts }) => [outcome, attempts.at(-1)?.number]),
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

interface CorrectedReport extends RetryReport {
  changes: { key: string; from: string; to: string }[];
  notUsed: string[];
}

/** The job file with one text replaced. */
async function edit(harness: RunHarness, from: string, to: string): Promise<void> {
  const file = path.join(harness.folder, 'updraft.toml');
  const text = await readFile(file, 'utf8');
  assert.ok(text.includes(from), text);
  await writeFile(file, text.replace(from, to));
}

test("a corrected command, its outputs and its check are the retry's, with what changed; the first round keeps its own", async (t) => {
  const harness = await RunHarness.make(t);
  await withScript(harness, '[ "$1" = --lr ] || exit 2; echo "$2" > new.pt', 1);
  await edit(harness, 'sh train.sh {index}', 'sh train.sh --learning-rate {index}');
  assert.equal((await harness.updraft('run')).code, 1);
  const [run] = await harness.runs();
  await edit(harness, '--learning-rate', '--lr');
  await edit(harness, '"model.pt"]', '"new.pt"]\ncheck = "test -s new.pt"\nenv = { A = "1" }');
  await edit(harness, 'memory = "10 MB"', 'memory = "11 MB"');
  const hint = await harness.updraft('retry', '--dry-run');
  assert.match(hint.out, /updraft\.toml has\s+changed since the run was created; --with-new-files/);
  const said = await harness.updraft('retry', '--with-new-files', '--dry-run');
  assert.match(
    said.out,
    /train\.command: sh train\.sh --learning-rate \{index\}\n +→ sh train\.sh --lr \{index\}\n/,
  );
  assert.match(said.out, /\[resources\] changed, too, which a retry does not use: `updraft run --new`/);
  const retried = await harness.updraft('retry', '--with-new-files', '--json');
  const report = JSON.parse(retried.out) as CorrectedReport;
  assert.deepEqual(
    report.changes.map(({ key }) => key),
    ['train.command', 'train.outputs', 'train.check', 'train.env'],
  );
  assert.deepEqual([report.notUsed, report.jobs[0]?.changeIsMade], [['[resources]'], true]);
  const state = await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  assert.deepEqual(
    state.jobs[0]?.attempts.map(({ ending, agent }) => [ending, agent?.training?.command]),
    [
      ['failed', 'sh train.sh --learning-rate 0'],
      ['success', 'sh train.sh --lr 0'],
    ],
  );
  assert.equal(await readFile(path.join(run!, 'results/0000/new.pt'), 'utf8'), '0\n');
  const [first, second] = await Promise.all([roundPlan(run!, 1), roundPlan(run!, 2)]);
  assert.deepEqual(
    [first.jobs[0]?.train.command, second.jobs[0]?.train.command, second.jobs[0]?.train.checkpoint],
    ['sh train.sh --learning-rate 0', 'sh train.sh --lr 0', 'ckpt'],
  );
  assert.notEqual(first.planHash, second.planHash);
  const journal = await readFile(path.join(run!, 'journal.jsonl'), 'utf8');
  assert.match(journal, /"round-started".*--with-new-files: train\.command/);
});

test('a job file that describes other jobs, or is not valid, is refused, and nothing is tried again', async (t) => {
  const harness = await RunHarness.make(t);
  await withScript(harness, 'exit 3', 2);
  await harness.updraft('run');
  const [run] = await harness.runs();
  await edit(harness, 'jobs = 2', 'jobs = 3');
  const others = await harness.updraft('retry', '--with-new-files');
  assert.equal(others.code, 2, others.err);
  assert.match(others.err, /other jobs than the run has[\s\S]*fix: .*updraft run --new/);
  await edit(harness, 'jobs = 3', 'jobs = 2\n[environment]\nimage = "docker://other"');
  const software = await harness.updraft('retry', '--with-new-files');
  assert.match(software.err, /other software than the run has[\s\S]*fix: .*updraft run --new/);
  await edit(harness, 'image = "docker://other"', 'no_such_key = 1');
  const invalid = await harness.updraft('retry', '--with-new-files');
  assert.notEqual(invalid.code, 0);
  assert.match(invalid.err, /no_such_key/);
  assert.equal((await loadRun(run!)).rounds, 1);
});

test('what the command line of the run had set beside the job file still counts', async (t) => {
  const harness = await RunHarness.make(t);
  await withScript(harness, '[ "$1" = ok ] || exit 2; echo 1 > model.pt', 1);
  await harness.updraft('run', '--set', 'train.command="sh train.sh set"');
  const [run] = await harness.runs();
  await writeFile(path.join(harness.folder, 'train.sh'), '[ "$1" = set ] && echo 1 > model.pt');
  const report = JSON.parse(
    (await harness.updraft('retry', '--with-new-files', '--json')).out,
  ) as CorrectedReport;
  assert.deepEqual([report.changes, report.changedFiles], [[], ['train.sh']]);
  assert.equal((await harness.until(run!, ({ endedAt }) => endedAt !== undefined)).tally.success, 1);
});
