import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { attemptProcesses, memoryOf } from './processes.ts';

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
  assert.deepEqual(attemptProcesses(`${scratch}-other`, child.pid), [child.pid]);
  assert.ok(memoryOf([child.pid ?? 0]) > 10_000);
  assert.equal(memoryOf([2 ** 22 + 1]), 0);
});
