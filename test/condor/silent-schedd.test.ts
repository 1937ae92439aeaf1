import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { testPool } from '../pool.ts';
import { condorHarness, type CondorHarness } from './condor-harness.ts';
import { ownPool } from './own-pool.ts';
import { runNames } from '../run-names.ts';
import { cliMain } from '../programs.ts';

async function updraft({ folder, env }: CondorHarness, ...args: string[]) {
  const child = spawn(process.execPath, [cliMain, ...args], {
    cwd: folder,
    env: { ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const said = { out: '', err: '' };
  child.stdout.on('data', (chunk: Buffer) => void (said.out += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => void (said.err += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, ...said };
}

/** The tools that do not ask the schedd need up to a second each on a busy machine. */
const seconds = 10;

test('submit and stop report a schedd that does not answer in time, and status works without it', async (t) => {
  const harness = await condorHarness(t, {
    'updraft.toml':
      'name = "silent"\n[train]\ncommand = "sleep 600"\noutputs = ["x"]\n[run]\npool = "condor"\nprofile = "htcondor"\n',
  });
  const shared = await testPool(t);
  if (harness === undefined || shared === undefined) return;
  const { bin, schedd: findSchedd } = await ownPool(t, shared.root);
  const schedd = await findSchedd();
  harness.env = {
    ...harness.env,
    PATH: `${bin}:${process.env['PATH'] ?? ''}`,
    UPDRAFT_POOL_SECONDS: String(seconds),
  };

  process.kill(schedd, 'SIGSTOP');
  const submitted = await updraft(harness, 'submit');
  assert.equal(submitted.code, 4, submitted.err);
  assert.match(submitted.err, new RegExp(`condor_submit got no answer within ${seconds} s`));
  assert.match(
    submitted.err,
    /fix: the scheduler is busy or down: run the same command again, .* submits no job twice/,
  );
  assert.equal((await updraft(harness, 'status')).code, 0);

  process.kill(schedd, 'SIGCONT');
  harness.env = { ...harness.env, UPDRAFT_POOL_SECONDS: '200' };
  const again = await updraft(harness, 'submit');
  assert.equal(again.code, 0, again.err);
  assert.equal((await runNames(harness.folder)).length, 1);

  process.kill(schedd, 'SIGSTOP');
  harness.env = { ...harness.env, UPDRAFT_POOL_SECONDS: String(seconds) };
  const stopped = await updraft(harness, 'stop', '--yes');
  assert.equal(stopped.code, 4, stopped.err);
  assert.match(stopped.err, new RegExp(`condor_q got no answer within ${seconds} s`));
  process.kill(schedd, 'SIGCONT');
  harness.env = { ...harness.env, UPDRAFT_POOL_SECONDS: '200' };
  const stoppedAgain = await updraft(harness, 'stop', '--yes');
  assert.equal(stoppedAgain.code, 0, stoppedAgain.err);
});
