import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { readClaim } from '../../src/job/claim.ts';
import { attemptFolder } from '@updraft/account/run-folder';
import { loadRun } from '@updraft/account/journal';
import { supervise } from '../../src/pool/local/supervisor.ts';
import { supervisorState } from '../../src/pool/local/local-pool.ts';
import { hurriedClock } from './hurried-clock.ts';
import { eventually, isIn, projectRoot, RunHarness } from './run-harness.ts';

const untilGo = 'echo begun >> "$LOG"; while [ ! -e "$GO" ]; do sleep 0.02; done; echo 1 > model.pt';

test('an attempt survives kill -9 of its supervisor, is adopted by the next one, and is not started twice', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(untilGo);
  assert.equal((await harness.updraft('submit')).code, 0);
  const [run] = await harness.runs();
  await harness.until(run!, isIn('0000', 'training'));
  await harness.killSupervisor(run!);
  assert.equal((await supervisorState(run!)).state, 'died');
  const again = await harness.updraft('submit', '--json');
  assert.equal((JSON.parse(again.out) as { how: string }).how, 'continued');
  assert.equal((await supervisorState(run!)).state, 'running');
  await writeFile(harness.env['GO']!, '');
  const { tally, jobs } = await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  assert.equal(tally.success, 1);
  assert.equal(jobs[0]!.attempts.length, 1);
  assert.deepEqual(await harness.trainings(), ['begun']);
  assert.equal((await harness.runs()).length, 1);
});

test('the next supervisor accepts the result of an agent that ended without supervision', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(untilGo);
  await harness.updraft('submit');
  const [run] = await harness.runs();
  await harness.until(run!, isIn('0000', 'training'));
  await harness.killSupervisor(run!);
  await writeFile(harness.env['GO']!, '');
  await eventually(async () => (await harness.processes()).length === 0);
  assert.equal((await loadRun(run!)).jobs[0]!.status, 'running');
  await harness.updraft('submit');
  const { tally, jobs } = await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  assert.equal(tally.success, 1);
  assert.equal(jobs[0]!.attempts.length, 1);
});

test('an attempt that is in the journal but never started is voided, and a late agent cannot run it', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo begun >> "$LOG"; echo 1 > model.pt');
  const run = await harness.createRun();
  await dieInStart(harness, run, `process.kill(process.pid, 'SIGKILL')`);
  assert.deepEqual(
    (await harness.entries(run)).map(({ kind }) => kind),
    ['run-created', 'attempt-started'],
  );

  const outcome = await supervise(await harness.supervision(run, { clock: hurriedClock() }));
  assert.equal(outcome, 'ended');
  const { tally, jobs } = await loadRun(run);
  assert.equal(tally.success, 1);
  assert.deepEqual(
    jobs[0]!.attempts.map((attempt) => attempt.ending),
    ['lost', 'success'],
  );
  assert.match(jobs[0]!.attempts[1]!.why, /attempt 1 .*supervisor died before the agent started/);
  assert.ok('void' in (await readClaim(attemptFolder(run, '0000', 1)))!);

  const late = spawn(
    path.join(harness.folder, 'agent'),
    ['run', path.join(attemptFolder(run, '0000', 1), 'order.json')],
    {
      env: harness.env,
      stdio: 'ignore',
    },
  );
  await once(late, 'exit');
  assert.equal(late.exitCode, 117);
  assert.deepEqual(await harness.trainings(), ['begun']);
  assert.deepEqual(await readdir(harness.scratch), []);
});

test('an agent that starts after its attempt was given up ends without running it', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo "$UPDRAFT_ATTEMPT" >> "$LOG"; echo 1 > model.pt');
  const run = await harness.createRun();
  // The supervisor dies just after it started an agent that is slow to come up.
  await dieInStart(
    harness,
    run,
    `spawn('/bin/sh', ['-c', 'while [ ! -e "$GO" ]; do sleep 0.02; done; exec "$@"', 'sh', ...start.command],
       { env: start.env, detached: true, stdio: 'ignore' });
     process.kill(process.pid, 'SIGKILL')`,
  );
  await supervise(await harness.supervision(run, { clock: hurriedClock() }));
  await writeFile(harness.env['GO']!, '');
  await eventually(async () => (await harness.processes()).length === 0);
  assert.deepEqual(await harness.trainings(), ['2']);
  assert.equal((await loadRun(run)).tally.success, 1);
});

test('after an agent is killed, its training is ended, its scratch removed, and the job tried again', async (t) => {
  const harness = await RunHarness.make(t);
  const command = 'echo $$ >> "$LOG"; if [ "$UPDRAFT_ATTEMPT" = 1 ]; then sleep 1000; fi; echo 1 > model.pt';
  await harness.describe(command);
  const run = await harness.createRun();
  const supervised = supervise(await harness.supervision(run, { clock: hurriedClock() }));
  await harness.until(run, isIn('0000', 'training'));
  const claim = await readClaim(attemptFolder(run, '0000', 1));
  assert.ok(claim !== undefined && 'pid' in claim);
  process.kill(claim.pid, 'SIGKILL');
  assert.equal(await supervised, 'ended');
  const { jobs } = await loadRun(run);
  assert.deepEqual(
    jobs[0]!.attempts.map(({ ending }) => ending),
    ['lost', 'success'],
  );
  assert.match(jobs[0]!.attempts[0]!.fault!.message, /the agent was killed by SIGKILL/);
  assert.deepEqual(await readdir(harness.scratch), []);
  assert.deepEqual(await harness.processes(), []);
});

test('there are never two supervisors of one run', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(untilGo, 'jobs = 2');
  const run = await harness.createRun();
  const options = await harness.supervision(run);
  const first = supervise(options);
  await harness.until(run, isIn('0000', 'training'));
  assert.equal(await supervise(options), 'held');
  await Promise.all([harness.updraft('submit'), harness.updraft('submit')]);
  await writeFile(harness.env['GO']!, '');
  assert.equal(await first, 'ended');
  assert.deepEqual(await harness.trainings(), ['begun', 'begun']);
});

test('a run continues after kill -9 of the watching command, and the same command reports its end', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(untilGo);
  const watching = harness.start('run');
  await eventually(async () => (await harness.runs()).some((run) => !path.basename(run).startsWith('.')));
  const [run] = await harness.runs();
  await harness.until(run!, isIn('0000', 'training'));
  process.kill(watching.pid, 'SIGKILL');
  await watching.answer;
  await writeFile(harness.env['GO']!, '');
  const again = await harness.updraft('run');
  assert.equal(again.code, 0);
  assert.match(again.err, /resuming bench-|already finished: bench-/);
  assert.deepEqual(await harness.trainings(), ['begun']);
});

test('a supervisor that dies under a watching `run` is replaced, and the run succeeds', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(untilGo);
  const run = await harness.createRun();
  const watching = harness.start('run');
  await harness.until(run, isIn('0000', 'training'));
  await harness.killSupervisor(run);
  await eventually(async () => (await supervisorState(run)).state === 'running');
  await writeFile(harness.env['GO']!, '');
  assert.equal((await watching.answer).code, 0);
  assert.deepEqual(await harness.trainings(), ['begun']);
});

test('a finished run frees its share of the machine', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo 1 > model.pt', 'jobs = 2');
  await supervise(await harness.supervision(await harness.createRun()));
  assert.deepEqual(
    (await readdir(harness.pool)).filter((name) => name.endsWith('.share')),
    [],
  );
  assert.deepEqual(await readdir(harness.scratch), []);
});

test('a supervisor that is asked to end leaves its attempts running, and the next one continues with them', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(untilGo);
  await harness.updraft('submit');
  const [run] = await harness.runs();
  await harness.until(run!, isIn('0000', 'training'));
  const before = await supervisorState(run!);
  assert.ok(before.state === 'running');
  process.kill(before.pid, 'SIGTERM');
  await eventually(async () => (await supervisorState(run!)).state === 'died');
  await harness.updraft('submit');
  await writeFile(harness.env['GO']!, '');
  const { jobs } = await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  assert.deepEqual(
    jobs[0]!.attempts.map(({ ending }) => ending),
    ['success'],
  );
});

test('a journal that lost its first line still brings every job of the plan to its end', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo 1 > model.pt', 'jobs = 2');
  const run = await harness.createRun();
  await writeFile(path.join(run, 'journal.jsonl'), '{"v":1,"t":"2026-\n');
  assert.equal(await supervise(await harness.supervision(run)), 'ended');
  assert.equal((await loadRun(run)).tally.success, 2);
});

test('whatever entry of the journal was the last before kill -9, every job succeeds and no attempt runs twice', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('echo "$UPDRAFT_JOB/$UPDRAFT_ATTEMPT" >> "$LOG"; echo 1 > model.pt', 'jobs = 4');
  const run = await harness.createRun();
  // Each dies when the journal has grown by one or two entries, whatever it is doing then. After more deaths than
  // these a job would rightly be given up.
  for (let deaths = 0; deaths < 8; deaths++)
    await mortalSupervisor(harness, run, (await harness.entries(run)).length + 1 + (deaths % 2));
  await mortalSupervisor(harness, run, Infinity);
  const { tally, jobs } = await loadRun(run);
  assert.equal(tally.success, 4);
  const trainings = await harness.trainings();
  assert.equal(new Set(trainings).size, trainings.length);
  for (const { attempts } of jobs)
    assert.equal(attempts.filter(({ ending }) => ending === 'success').length, 1);
  assert.deepEqual(await readdir(harness.scratch), []);
});

/** A supervisor in its own process that is killed once the journal has `entries` entries. */
async function mortalSupervisor(harness: RunHarness, run: string, entries: number): Promise<void> {
  const child = await startSupervisor(harness, run, 'startAgent');
  const exited = once(child, 'exit');
  await eventually(async () => child.exitCode !== null || (await harness.entries(run)).length >= entries);
  child.kill('SIGKILL');
  await exited;
}

/** A supervisor in its own process that does `act` instead of starting its first agent. */
async function dieInStart(harness: RunHarness, run: string, act: string): Promise<void> {
  const start = `async (start) => { ${act}; return new Promise(() => {}); }`;
  const child = await startSupervisor(harness, run, start);
  await once(child, 'exit');
  assert.equal(child.signalCode, 'SIGKILL');
}

async function startSupervisor(harness: RunHarness, run: string, startAgent: string): Promise<ChildProcess> {
  const from = (file: string): string => JSON.stringify(path.join(projectRoot, file));
  // Functions cannot be passed as JSON: the other process has its own.
  const options = JSON.stringify(await harness.supervision(run));
  const source = `
    import { spawn } from 'node:child_process';
    import { identifyProcess } from ${from('packages/base/process-identity.ts')};
    import { startAgent } from ${from('src/pool/local/agent-process.ts')};
    import { supervise } from ${from('src/pool/local/supervisor.ts')};
    import { hurriedClock } from ${from('test/run/hurried-clock.ts')};
    await supervise({
      ...${options},
      clock: hurriedClock(),
      signal: new AbortController().signal,
      kill: process.kill,
      say: console.error,
      self: identifyProcess(process.pid),
      startAgent: ${startAgent},
    });`;
  return spawn(process.execPath, ['--input-type=module-typescript', '-e', source], {
    stdio: 'inherit',
    env: harness.env,
  });
}
