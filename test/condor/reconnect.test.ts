import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '@updraft/base';
import * as why from '../../src/cli/commands/why.ts';
import { describeState } from '../../src/run/describe-job.ts';
import type { Explanation } from '@updraft/account/why';
import { readRunState } from '../../src/run/run-states.ts';
import { runCommand } from '../cli/run-command.ts';
import { meetingPlace, testPool } from '../pool.ts';
import { condorHarness, onlyJob, result } from './condor-harness.ts';
import { ownPool } from './own-pool.ts';
import { hangMs } from '../hang-limit.ts';

test('a job survives a killed schedd, and is read as one attempt', async (t) => {
  const shared = await testPool(t);
  if (shared === undefined) return;
  const { bin, home, schedd } = await ownPool(t, shared.root, ['MASTER_BACKOFF_CONSTANT = 1']);
  const harness = await condorHarness(
    t,
    {},
    { env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` }, sends: true },
  );
  if (harness === undefined) return;
  const place = await meetingPlace(home);
  await writeFile(
    path.join(harness.folder, 'updraft.toml'),
    `name = "kept"\n[train]\ncommand = '''echo begun >> out.txt; until [ -e "${place.onWorker}/go" ]; do sleep 0.1; done'''\noutputs = ["out.txt"]\n[run]\npool = "condor"\n`,
  );
  const run = await harness.submit();
  await harness.until(run, (state) => onlyJob(state).attempts[0]?.agent?.phase === 'training');

  process.kill(await schedd(), 'SIGKILL');
  const log = path.join(run, 'events.log');
  const signal = AbortSignal.timeout(hangMs);
  while (!/^023 /m.test(await readFile(log, 'utf8'))) await systemClock.sleep(100, signal);
  const back = onlyJob(await readRunState(run));
  assert.deepEqual([back.status, back.attempts.length], ['running', 1]);

  await writeFile(path.join(place.here, 'go'), '');
  const job = onlyJob(await harness.finish(run));
  assert.deepEqual([job.outcome, job.attempts.length], ['success', 1], JSON.stringify(job));
  assert.equal(await result(run, 'out.txt'), 'begun\n');
});

test("a job whose machine is unreachable is disconnected, with the pool's deadline, and restarts elsewhere", async (t) => {
  const shared = await testPool(t);
  if (shared === undefined) return;
  const { bin, startd, starter } = await ownPool(t, shared.root);
  const command = '[ $UPDRAFT_ATTEMPT -gt 1 ] || exec sleep 600; echo done > out.txt';
  const job = `name = "lost"\n[train]\ncommand = '${command}'\noutputs = ["out.txt"]\n[run]\npool = "condor"\n`;
  const harness = await condorHarness(
    t,
    { 'updraft.toml': job },
    { env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` }, sends: true },
  );
  if (harness === undefined) return;
  const run = await harness.submit();
  await harness.until(run, (state) => onlyJob(state).attempts[0]?.agent?.phase === 'training');

  // A machine that does not answer: HTCondor can neither reach the job nor know that it is gone.
  const [machine, sandbox] = [await startd(), await starter()];
  process.kill(machine, 'SIGSTOP');
  process.kill(sandbox, 'SIGKILL');
  const cut = onlyJob(await harness.until(run, (state) => describeState(onlyJob(state)) === 'disconnected'));
  const { since, until } = cut.attempts[0]!.pool!.disconnected!;
  assert.equal(Date.parse(until) - Date.parse(since), 1_200_000);
  const { out } = await runCommand(why, [run, '0', '--json'], { cwd: harness.folder, env: harness.env });
  const [said] = (JSON.parse(out) as { jobs: Explanation[] }).jobs;
  assert.equal(said?.cause, 'disconnected');
  assert.match(said.doing.join(' '), /Disconnected since .*; the pool gives up at /);

  process.kill(machine, 'SIGCONT');
  const end = onlyJob(await harness.finish(run));
  assert.deepEqual([end.outcome, end.attempts[0]?.ending], ['success', 'evicted'], JSON.stringify(end));
});
