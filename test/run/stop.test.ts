import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import process from 'node:process';
import { test, type TestContext } from 'node:test';
import { loadRun } from '@updraft/account/journal';
import { supervise } from '../../src/pool/local/supervisor.ts';
import { requestStop } from '../../src/run/run-states.ts';
import { hurriedClock } from './hurried-clock.ts';
import { eventually, isIn, RunHarness } from './run-harness.ts';
import { systemClock } from '@updraft/base';

const forEver = 'echo begun >> "$LOG"; sleep 1000';

/** Nothing of the run is left on the machine. */
async function assertNothingLeft(harness: RunHarness): Promise<void> {
  await eventually(async () => (await harness.processes()).length === 0);
  assert.deepEqual(await readdir(harness.scratch), []);
}

/** A server that starts to send an object and never ends. */
async function silentServer(t: TestContext): Promise<string> {
  const server = createServer(({ method }, response) => {
    response.writeHead(200, { 'content-length': '1000000', 'content-type': 'application/x-tar' });
    // The self-test only checks that the object exists; its bytes never come.
    if (method === 'HEAD') response.end();
    else response.write('x');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/set.tar`;
}

test('a stop while training ends the running and the waiting jobs, and leaves nothing behind', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(forEver, 'jobs = 64');
  await harness.updraft('submit');
  const [run] = await harness.runs();
  await harness.until(run!, isIn('0000', 'training'));
  const { code, out } = await harness.updraft('stop', '--json');
  assert.equal(code, 0);
  assert.equal((JSON.parse(out) as { stopped: string[] }).stopped.length, 64);
  const { tally, jobs } = await loadRun(run!);
  assert.equal(tally.removed, 64);
  assert.deepEqual(jobs.at(-1)!.attempts, []);
  assert.equal(jobs[0]!.attempts[0]!.ending, 'removed');
  await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  await assertNothingLeft(harness);

  const entries = await harness.entries(run!);
  const again = await harness.updraft('stop', '--yes');
  assert.equal(again.code, 0);
  assert.match(again.err, /nothing to stop/);
  assert.equal((await harness.entries(run!)).length, entries.length);
});

test('a stop while fetching ends the attempt at once', async (t) => {
  const harness = await RunHarness.make(t);
  const data = `[data.set]\nurl = "${await silentServer(t)}"\ninto = "data"`;
  await harness.describe('echo 1 > model.pt', '', `[resources]\ncpus = 1\nmemory = "10 MB"\n${data}`);
  const run = await harness.createRun();
  const supervised = supervise(await harness.supervision(run));
  await harness.until(run, isIn('0000', 'fetching'));
  await requestStop(run, await loadRun(run), [], systemClock);
  assert.equal(await supervised, 'ended');
  assert.equal((await loadRun(run)).tally.removed, 1);
  await assertNothingLeft(harness);
});

test('a stop works when the supervisor is dead', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(forEver);
  await harness.updraft('submit');
  const [run] = await harness.runs();
  await harness.until(run!, isIn('0000', 'training'));
  await harness.killSupervisor(run!);
  assert.equal((await harness.updraft('stop', '--yes')).code, 0);
  assert.equal((await loadRun(run!)).tally.removed, 1);
  await harness.until(run!, ({ endedAt }) => endedAt !== undefined);
  await assertNothingLeft(harness);
});

test('an agent that ignores the request to stop is killed, with its training', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('trap "" TERM INT; echo begun >> "$LOG"; while :; do sleep 1; done');
  const run = await harness.createRun();
  // On this clock the grace ends before the agent's own, which uses the real one.
  const supervised = supervise(await harness.supervision(run, { clock: hurriedClock(), stopGraceMs: 2_000 }));
  await harness.until(run, isIn('0000', 'training'));
  await requestStop(run, await loadRun(run), [], systemClock);
  assert.equal(await supervised, 'ended');
  const { jobs } = await loadRun(run);
  assert.equal(jobs[0]!.attempts[0]!.ending, 'removed');
  assert.equal(jobs[0]!.attempts.length, 1);
  await assertNothingLeft(harness);
});

test('jobs and runs that do not exist are named', async (t) => {
  const harness = await RunHarness.make(t);
  assert.equal((await harness.updraft('stop')).code, 2);
  await harness.describe('echo 1 > model.pt');
  const run = await harness.createRun();
  const { code, err } = await harness.updraft('stop', run, '0000', '7');
  assert.equal(code, 2);
  assert.match(err, /has no job "7"/);
  assert.match(err, /fix: /);
  // A number alone is a job of the latest run, as for `logs`, `why` and `retry`.
  assert.match((await harness.updraft('stop', '7')).err, /has no job "7"/);
});

test('Ctrl-C on `run` leaves the run going and says how to return to it and how to stop it', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('while [ ! -e "$GO" ]; do sleep 0.02; done; echo 1 > model.pt');
  const run = await harness.createRun();
  const watching = harness.start('run');
  await harness.until(run, isIn('0000', 'training'));
  process.kill(watching.pid, 'SIGINT');
  const { code, err } = await watching.answer;
  assert.equal(code, 5);
  assert.match(err, /left bench-\S+: it continues without the view/);
  assert.match(err, /updraft watch bench-.*updraft stop bench-/);
  await writeFile(harness.env['GO']!, '');
  assert.equal((await harness.until(run, ({ endedAt }) => endedAt !== undefined)).tally.success, 1);
});
