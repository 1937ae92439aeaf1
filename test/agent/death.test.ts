import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { cgroupFolders } from '../../src/agent/training/memory-watch.ts';
import { AgentHarness, defaultCommand } from './agent-harness.ts';

/** How an attempt at a training ended: the agent's exit code, and the fault in its journal. */
async function died(t: TestContext, command: string, agent = defaultCommand) {
  const harness = await AgentHarness.open(t);
  const { exit } = await harness.run({ train: { command } }, agent);
  assert.deepEqual(harness.leftovers(), []);
  const { kind, message } = harness.entries('fault')[0]!.fault;
  return { exit, kind, message };
}

/** A cgroup with this memory limit; undefined if this user cannot create one. */
function cgroupOf(t: TestContext, bytes: number): string | undefined {
  const [own = ''] = cgroupFolders(readFileSync('/proc/self/cgroup', 'utf8'));
  const folder = path.join(own, `updraft-test-${process.pid}`);
  try {
    mkdirSync(folder);
    t.after(() => rmdirSync(folder));
    const limit = folder.startsWith('/sys/fs/cgroup/memory/') ? 'memory.limit_in_bytes' : 'memory.max';
    writeFileSync(path.join(folder, limit), String(bytes));
    return folder;
  } catch (error) {
    t.skip(`cannot create a cgroup here: ${(error as Error).message}`);
    return undefined;
  }
}

test('a training that the kernel kills at a real memory limit needs more memory', async (t) => {
  const cgroup = cgroupOf(t, 400 << 20);
  if (cgroup === undefined) return;
  const inside = ['/bin/sh', '-c', `echo $$ > ${cgroup}/cgroup.procs; exec "$@"`, 'sh', ...defaultCommand];
  const { exit, kind, message } = await died(t, `python3 -c 'x = b"x" * (900 << 20)'; exit $?`, inside);
  assert.deepEqual([exit, kind], [86, 'memory-exceeded'], message);
  assert.match(message, /killed by the kernel, because its cgroup \(limit 4\d\d MB\) had no memory left/);
});

test('a training that reports a failed allocation needs more memory', async (t) => {
  const { exit, message } = await died(t, `ulimit -v 400000; python3 -c 'x = b"x" * (900 << 20)'`);
  assert.equal(exit, 86, message);
  assert.match(message, /MemoryError/);
});

test('a training killed from outside is recognized, however its shell reports it', async (t) => {
  for (const command of [
    'kill -9 $$',
    'python3 -c "import os; os.kill(os.getpid(), 9)"; exit $?',
    'exit 137',
  ]) {
    const { exit, kind, message } = await died(t, command);
    assert.deepEqual([exit, kind], [87, 'training-killed'], message);
    assert.match(message, /apparently not for memory \(.* 1 GB; the machine had .* left\)/);
  }
});

test('a full disk, a quota and GPU memory are distinguished from an error in the program', async (t) => {
  const raising = (text: string): string => `python3 -c 'raise ${text}'`;
  assert.equal((await died(t, raising('OSError(28, "No space left on device")'))).exit, 107);
  assert.equal((await died(t, raising('OSError(122, "Disk quota exceeded")'))).exit, 107);
  assert.equal(
    (await died(t, raising('RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")'))).exit,
    88,
  );
  const bug = await died(t, raising('ValueError("no classes")'));
  assert.deepEqual([bug.exit, bug.kind], [1, 'training-failed']);
});
