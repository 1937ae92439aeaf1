import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { supervise } from '../../src/pool/local/supervisor.ts';
import { untilState } from '../until-state.ts';
import { RunHarness } from './run-harness.ts';

/** The training waits for `served`, beside the job file. */
const served = 'served';
const go = `$(dirname "$GO")/${served}`;

/** Runs a training until its agent knows what it gets of its slot, and lets it end; returns what a command says then. */
async function slowTraining(
  t: TestContext,
  command: string,
  view: string[],
  gpuPercent?: number,
): Promise<string> {
  const harness = await RunHarness.make(t);
  await promisify(execFile)('mkfifo', [path.join(harness.folder, served)]);
  const hasGpu = gpuPercent !== undefined;
  // The first on the PATH. Without PyTorch, nothing tests the GPU.
  const programs = {
    'nvidia-smi': `echo "0, GPU-aa11, NVIDIA A100, ${gpuPercent ?? ''}, 550.54.14"`,
    python3: 'exit 3',
  };
  for (const [name, line] of hasGpu ? Object.entries(programs) : [])
    await writeFile(path.join(harness.folder, 'bin', name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  const resources = `cpus = 1\nmemory = "10 MB"\ngpus = ${hasGpu ? 1 : 0}`;
  await harness.describe(command, '', `[resources]\n${resources}`);
  const run = await harness.createRun();
  const machine = { cpus: 1, memoryBytes: 2 ** 30, gpus: hasGpu ? ['GPU-aa11'] : [] };
  const supervised = supervise(await harness.supervision(run, { machine }));
  const { jobs } = await untilState(
    run,
    (state) => (state.jobs[0]?.attempts[0]?.agent?.load?.seconds ?? 0) >= 20,
  );
  assert.equal(jobs[0]?.status, 'running', JSON.stringify(jobs[0]?.attempts));
  await writeFile(path.join(harness.folder, served), 'model');
  assert.equal(await supervised, 'ended');
  const { out } = await harness.updraft(...view.slice(0, 1), run, ...view.slice(1));
  return out.replaceAll(/\s+/g, ' ');
}

/** The first core that this process may use. */
const core = /^Cpus_allowed_list:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? '0';

describe('a slot made slow on purpose is explained in one sentence', { concurrency: true }, () => {
  test('one core, which a busy neighbour uses too', async (t) => {
    const neighbour = spawn('taskset', ['-c', core, 'sh', '-c', 'while :; do :; done']);
    t.after(() => void neighbour.kill('SIGKILL'));
    const spins = `cat "${go}" > model.pt & while kill -0 $! 2>/dev/null; do :; done`;
    const out = await slowTraining(t, `exec taskset -c ${core} sh -c '${spins}'`, ['why', '0']);
    assert.match(
      out,
      /It was slow: its 2 processes used 0\.\d of 1 core, and waited for 0\.\d more: others use them\./,
    );
    assert.match(out, /fix .*Avoid this machine/);
  });

  test('a disk that keeps a process waiting', async (t) => {
    // The kernel has the parent of a vfork wait as for a disk, here until its child can open its input.
    const spawns =
      `import os; os.posix_spawn("/bin/dd", ["dd", "of=model.pt"], {{}}, ` +
      `file_actions=[(os.POSIX_SPAWN_OPEN, 0, os.path.dirname(os.environ["GO"]) + "/${served}", 0, 0)]); os.wait()`;
    const out = await slowTraining(t, `exec python3 -c '${spawns}'`, ['report']);
    assert.match(
      out,
      /1 slow attempt, such as 1 of 0000 at \S+: 1\.0 of its 2 processes waited for the disk at any time\. Read fewer/,
    );
  });

  test('a loader that waits for its server, while the GPU is idle', async (t) => {
    const out = await slowTraining(t, `exec cat "${go}" > model.pt`, ['why', '0'], 18);
    assert.match(
      out,
      /It was slow: its GPU was 18 % busy, and its process used 0\.0 of 1 core, and waited for neither core nor disk\./,
    );
  });
});
