import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { attemptProcesses, memoryOf, wouldSurviveTerm } from './processes.ts';

test('processes are found by session or environment, and their memory can be read', async (t) => {
  const scratch = '/nowhere/updraft-processes-test';
  const child = spawn('/bin/sh', ['-c', 'echo up; read line'], {
    detached: true,
    env: { UPDRAFT_SCRATCH: scratch },
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  t.after(() => child.kill('SIGKILL'));
  await new Promise((resolve) => child.stdout.once('data', resolve));
  assert.deepEqual(attemptProcesses(scratch), [child.pid]);
  assert.deepEqual(attemptProcesses(`${scratch}-other`), []);
  assert.deepEqual(attemptProcesses(`${scratch}-other`, child.pid ?? 0), [child.pid]);
  assert.ok(memoryOf([child.pid ?? 0]) > 10_000);
  assert.equal(memoryOf([2 ** 22 + 1]), 0);
});

test('SIGTERM only asks programs that handle it; a shell around them does not matter', async (t) => {
  const start = async (program: string, args: string[]): Promise<number> => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'ignore'] });
    t.after(() => child.kill('SIGKILL'));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    return child.pid ?? 0;
  };
  const python = (handler: string): Promise<number> =>
    start('python3', ['-c', `import signal; ${handler}; print('up', flush=True); input()`]);
  const [shell, unaware, saves, ignores] = await Promise.all([
    start('/bin/sh', ['-c', 'echo up; read line']),
    python('pass'),
    python('signal.signal(signal.SIGTERM, lambda *_: None)'),
    python('signal.signal(signal.SIGTERM, signal.SIG_IGN)'),
  ]);
  assert.equal(wouldSurviveTerm([shell, unaware]), false, 'it would end');
  assert.equal(wouldSurviveTerm([shell, saves]), true);
  assert.equal(wouldSurviveTerm([shell, saves, ignores]), true);
  assert.equal(wouldSurviveTerm([shell, saves, unaware]), false, 'one of several would end');
  assert.equal(wouldSurviveTerm([shell, ignores]), false, 'nobody would save');
  assert.equal(wouldSurviveTerm([]), false);
});
