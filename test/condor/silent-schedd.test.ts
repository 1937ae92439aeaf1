import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { startPool, stopPool } from '../../src/mini/pool/pool.ts';
import { sites } from '../../src/mini/pool/sites.ts';
import { testPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { condorBench, type CondorBench } from './condor-bench.ts';

const main = path.resolve(import.meta.dirname, '../../src/cli/main.ts');

/** A pool of the test's own, whose scheduler may be stopped. */
async function ownPool(t: TestContext, root: string) {
  const home = await temporaryFolder(t);
  const kill = (pid: number, signal: NodeJS.Signals): void => void process.kill(pid, signal);
  const world = { clock: systemClock, kill };
  const signal = AbortSignal.timeout(60_000);
  const state = await startPool({ root, home, sites: sites.slice(0, 1), signal, ...world });
  const children = await readFile(`/proc/${state.master}/task/${state.master}/children`, 'utf8');
  for (const pid of children.trim().split(' ').map(Number)) {
    const name = await readFile(`/proc/${pid}/comm`, 'utf8');
    if (name.trim() !== 'condor_schedd') continue;
    t.after(async () => {
      kill(pid, 'SIGCONT');
      await stopPool(state, world);
    });
    return { bin: state.bin, schedd: pid };
  }
  throw new Error('the pool has no schedd');
}

async function updraft({ folder, env }: CondorBench, ...args: string[]) {
  const child = spawn(process.execPath, [main, ...args], {
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

test('a scheduler that does not answer is told in time by submit and stop, and status works without it', async (t) => {
  const bench = await condorBench(t, {
    'updraft.toml':
      'name = "silent"\n[train]\ncommand = "sleep 600"\noutputs = ["x"]\n[run]\npool = "condor"\nprofile = "htcondor"\n',
  });
  const shared = await testPool(t);
  if (bench === undefined || shared === undefined) return;
  const { bin, schedd } = await ownPool(t, shared.root);
  bench.env = { ...bench.env, PATH: `${bin}:${process.env['PATH'] ?? ''}`, UPDRAFT_POOL_SECONDS: '2' };

  process.kill(schedd, 'SIGSTOP');
  const submitted = await updraft(bench, 'submit');
  assert.equal(submitted.code, 4, submitted.err);
  assert.match(submitted.err, /condor_submit had no answer within 2 s/);
  assert.match(
    submitted.err,
    /fix: the scheduler is busy or down: the same command again .* submits no job twice/,
  );
  assert.equal((await updraft(bench, 'status')).code, 0);

  process.kill(schedd, 'SIGCONT');
  bench.env = { ...bench.env, UPDRAFT_POOL_SECONDS: '30' };
  const again = await updraft(bench, 'submit');
  assert.equal(again.code, 0, again.err);
  assert.equal((await readdir(path.join(bench.folder, 'runs'))).length, 1);

  process.kill(schedd, 'SIGSTOP');
  bench.env = { ...bench.env, UPDRAFT_POOL_SECONDS: '2' };
  const stopped = await updraft(bench, 'stop', '--yes');
  assert.equal(stopped.code, 4, stopped.err);
  assert.match(stopped.err, /condor_rm had no answer within 2 s/);
  process.kill(schedd, 'SIGCONT');
  bench.env = { ...bench.env, UPDRAFT_POOL_SECONDS: '30' };
  const stoppedAgain = await updraft(bench, 'stop', '--yes');
  assert.equal(stoppedAgain.code, 0, stoppedAgain.err);
});
