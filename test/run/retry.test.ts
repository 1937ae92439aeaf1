import assert from 'node:assert/strict';
import { mkdir, readFile, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { WorkOrder } from '../../src/job/job.ts';
import type { Plan } from '../../src/job/plan.ts';
import { type JobState, loadRun } from '@updraft/account/journal';
import { supervise } from '../../src/pool/local/supervisor.ts';
import { hurriedClock } from './hurried-clock.ts';
import { RunHarness } from './run-harness.ts';

/** Runs one job whose attempts end as the words say to its end. */
async function endedJob(harness: RunHarness, words: string, attempts: number): Promise<JobState> {
  await harness.useAgent(path.join(import.meta.dirname, 'scripted-agent.ts'));
  await harness.describe(words, `attempts = ${attempts}`);
  const run = await harness.createRun();
  await supervise(await harness.supervision(run, { clock: hurriedClock() }));
  return (await loadRun(run)).jobs[0]!;
}

const outcomes = ({ attempts }: JobState): unknown[] => attempts.map(({ ending }) => ending);

test('a failure that a retry can fix is tried again, later each time, with the reason in the journal', async (t) => {
  const harness = await RunHarness.make(t);
  const job = await endedJob(harness, 'transfer-stalled data-corrupt success', 3);
  assert.equal(job.outcome, 'success');
  assert.deepEqual(outcomes(job), ['failed', 'failed', 'success']);
  assert.equal(job.attempts[0]!.why, 'first attempt');
  assert.equal(job.attempts[1]!.why, 'attempt 1 ended with transfer-stalled: attempt 1');
  assert.equal(job.attempts[2]!.why, 'attempt 2 ended with data-corrupt: attempt 2');
  const waits = job.attempts
    .slice(1)
    .map((one) => Date.parse(one.startedAt!) - Date.parse(one.waitingSince!));
  assert.ok(waits[0]! >= 5_000 && waits[1]! >= 10_000, `waited ${waits.join(' and ')} ms`);
});

test('a failure that no retry can fix is final', async (t) => {
  const harness = await RunHarness.make(t);
  const job = await endedJob(harness, 'training-failed success', 5);
  assert.equal(job.outcome, 'failed');
  assert.deepEqual(outcomes(job), ['failed']);
  assert.equal(job.attempts[0]!.fault!.kind, 'training-failed');
});

test('a training that is killed is tried again, and its third death is final', async (t) => {
  const harness = await RunHarness.make(t);
  const healed = await endedJob(harness, 'training-killed success', 5);
  assert.deepEqual(outcomes(healed), ['failed', 'success']);
  const lost = await endedJob(await RunHarness.make(t), 'training-killed', 5);
  assert.deepEqual(outcomes(lost), ['failed', 'failed', 'failed']);
});

test('an attempt that ran out of memory is followed by one with twice as much of the machine', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.useAgent(path.join(import.meta.dirname, 'scripted-agent.ts'));
  await harness.describe('memory-exceeded', 'attempts = 5', '[resources]\nmemory = "10 MB"');
  const run = await harness.createRun();
  await supervise(await harness.supervision(run, { clock: hurriedClock() }));
  const orders = [1, 2, 3].map((attempt) =>
    readFile(path.join(run, `jobs/0000/attempt-${attempt}/order.json`), 'utf8'),
  );
  const asked = (await Promise.all(orders)).map(
    (text) => (JSON.parse(text) as WorkOrder).resources.memoryBytes,
  );
  assert.deepEqual(asked, [10e6, 20e6, 40e6]);
  // It had the maximum that may be requested.
  assert.equal((await loadRun(run)).jobs[0]!.attempts.length, 3);
});

test('a job ends as failed when its attempts are used up', async (t) => {
  const harness = await RunHarness.make(t);
  const job = await endedJob(harness, 'disk-full', 2);
  assert.equal(job.outcome, 'failed');
  assert.deepEqual(outcomes(job), ['failed', 'failed']);
});

test('when failed_jobs jobs have failed for good, the rest of the run is given up', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.useAgent(path.join(import.meta.dirname, 'scripted-agent.ts'));
  const more = '[resources]\ncpus = 1\nmemory = "10 MB"\n[recovery]\nfailed_jobs = 1';
  await harness.describe('training-failed', 'jobs = 8', more);
  const run = await harness.createRun();
  await supervise(await harness.supervision(run, { clock: hurriedClock() }));
  const { jobs, tally } = await loadRun(run);
  assert.ok(tally.failed >= 1 && tally.removed >= 1, JSON.stringify(tally));
  assert.equal(tally.failed + tally.removed, jobs.length);
});

test('an agent that dies does not count against the attempts of the job', async (t) => {
  const harness = await RunHarness.make(t);
  const job = await endedJob(harness, 'crash success', 1);
  assert.deepEqual(outcomes(job), ['lost', 'success']);
});

test('an agent that cannot be started is reported with a fix, and its slot is freed', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('true', 'attempts = 2');
  const run = await harness.createRun();
  const agent = [path.join(harness.folder, 'no-such-agent')];
  await supervise(await harness.supervision(run, { agent, clock: hurriedClock() }));
  const { jobs, tally } = await loadRun(run);
  assert.equal(tally.failed, 1);
  assert.equal(jobs[0]!.attempts.length, 2);
  assert.match(jobs[0]!.attempts[0]!.fault!.message, /no-such-agent cannot be started.*ENOENT/);
  assert.match(jobs[0]!.attempts[0]!.fault!.fix!, /UPDRAFT_AGENT/);
});

test('a missing scratch folder is reported with a fix', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('true', 'attempts = 1');
  const run = await harness.createRun();
  const scratchRoot = path.join(harness.folder, 'nowhere');
  await supervise(await harness.supervision(run, { scratchRoot }));
  const { fault } = (await loadRun(run)).jobs[0]!.attempts[0]!;
  assert.equal(fault!.kind, 'scratch-unusable');
  assert.match(fault!.message, /nowhere/);
  assert.match(fault!.fix!, /UPDRAFT_SCRATCH/);
});

test('a training that succeeds without its output has failed, and `run` exits with 1', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('true');
  const { code, err } = await harness.updraft('run');
  assert.equal(code, 1);
  assert.match(err, /the job of bench-\S+ has no valid result/);
  const [run] = await harness.runs();
  assert.equal((await loadRun(run!)).jobs[0]!.outcome, 'wrong-output');
});

test('a token that has ended is renewed and tried once more: the first answer is not final, the second is', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.useAgent(path.join(import.meta.dirname, 'scripted-agent.ts'));
  for (const [words, expected] of [
    ['token-expired success', ['failed', 'success']],
    ['token-expired token-expired success', ['failed', 'failed']],
    ['token-expired transfer-stalled token-expired success', ['failed', 'failed', 'failed']],
  ] as const) {
    await harness.describe(words, 'attempts = 5');
    const run = await harness.createRun();
    const renewed: string[] = [];
    const renewTokens = (plan: Plan): Promise<void> => Promise.resolve(void renewed.push(plan.spec.name));
    await supervise(await harness.supervision(run, { clock: hurriedClock(), renewTokens }));
    assert.deepEqual(outcomes((await loadRun(run)).jobs[0]!), expected, words);
    assert.deepEqual(renewed, ['bench'], 'before the attempt after it');
  }
});

test('a work order of a stranger names a folder that is not a scratch folder: nothing is deleted or killed', async (t) => {
  const harness = await RunHarness.make(t);
  const agent = path.join(harness.folder, 'planting-agent.ts');
  await harness.useAgent(agent);
  await mkdir(path.join(harness.folder, 'precious/results'), { recursive: true });
  const precious = path.join(harness.folder, 'precious/results/.0000.x');
  await writeFile(precious, 'precious');
  const named = 'updraft-bench-0000-1-0123abcd';
  await symlink(path.join(harness.folder, 'precious'), path.join(harness.scratch, named));
  await mkdir(path.join(harness.folder, named));
  await writeFile(path.join(harness.folder, named, 'x'), 'precious');
  for (const scratch of [
    path.join(harness.folder, 'precious'),
    path.join(harness.folder, named),
    path.join(harness.scratch, named),
    path.join(harness.scratch, '../precious'),
    harness.scratch,
    path.join(harness.folder, 'precious/results'),
  ]) {
    const changed = `{ ...order, scratchParent: ${JSON.stringify(scratch)}, resultsTo: ${JSON.stringify(path.dirname(precious))} + '/0000' }`;
    await writeFile(
      agent,
      `import fs from 'node:fs';
      const [file] = process.argv.slice(3);
      const order = JSON.parse(fs.readFileSync(file, 'utf8'));
      fs.writeFileSync(file, JSON.stringify(${changed}));
      process.exit(1);`,
    );
    await harness.describe('true', 'attempts = 1');
    const run = await harness.createRun();
    const said: string[] = [];
    const killed: number[] = [];
    await supervise(
      await harness.supervision(run, {
        clock: hurriedClock(),
        say: (line) => void said.push(line),
        kill: (pid) => void killed.push(pid),
      }),
    );
    assert.match(said[0] ?? '', /is not a scratch folder of this attempt in .*; it was left alone/, scratch);
    assert.deepEqual(killed, [], scratch);
    assert.equal(await readFile(precious, 'utf8'), 'precious', scratch);
    assert.equal(await readFile(path.join(harness.folder, named, 'x'), 'utf8'), 'precious', scratch);
  }
});
