import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { loadRun } from '@updraft/account/journal';
import { supervise } from '../../src/pool/local/supervisor.ts';
import { RunHarness } from './run-harness.ts';

/** The maximum number of trainings that ran at the same time, by their own log. */
function maxParallel(lines: string[]): number {
  let [running, max] = [0, 0];
  for (const line of lines) {
    running += line === '+' ? 1 : -1;
    max = Math.max(max, running);
  }
  return max;
}

/** An environment in which nvidia-smi lists these GPUs, and Python has no PyTorch to test them. */
async function withGpus(harness: RunHarness, gpus: string[]): Promise<Record<string, string>> {
  const bin = path.join(harness.folder, 'gpu-bin');
  await mkdir(bin);
  const listing = gpus.map((uuid, index) => `echo "${index}, ${uuid}, NVIDIA A100, 0"`);
  await writeFile(path.join(bin, 'nvidia-smi'), ['#!/bin/sh', ...listing, ''].join('\n'), { mode: 0o755 });
  await writeFile(path.join(bin, 'python3'), '#!/bin/sh\nexit 3\n', { mode: 0o755 });
  return { ...harness.env, PATH: `${bin}:${harness.env['PATH'] ?? ''}` };
}

/** Ends only after a second training has started: a pool that ran one at a time would never end. */
const inPairs = [
  'echo + >> "$LOG"',
  'while [ "$(grep -c + "$LOG")" -lt 2 ]; do sleep 0.02; done',
  'echo "$UPDRAFT_JOB" > model.pt',
  'echo - >> "$LOG"',
].join('; ');

test('eight jobs on two CPUs run two at a time, and each keeps its own result', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(inPairs, 'jobs = 8');
  const run = await harness.createRun();
  assert.equal(await supervise(await harness.supervision(run)), 'ended');
  const { tally, jobs } = await loadRun(run);
  assert.equal(tally.success, 8);
  const lines = await harness.trainings();
  assert.equal(lines.length, 16);
  assert.equal(maxParallel(lines), 2);
  for (const { id, results } of jobs)
    assert.equal(await readFile(path.join(run, results!, 'model.pt'), 'utf8'), `${id}\n`);
});

test('two runs at once share the CPUs of the machine', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(inPairs, 'jobs = 4');
  const runs = [await harness.createRun(), await harness.createRun()];
  assert.notEqual(runs[0], runs[1]);
  await Promise.all(runs.map(async (run) => supervise(await harness.supervision(run))));
  assert.equal((await harness.trainings()).length, 16);
  assert.equal(maxParallel(await harness.trainings()), 2);
});

test('memory is limited as strictly as CPUs', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe(
    'echo + >> "$LOG"; sleep 0.2; echo - >> "$LOG"; echo 1 > model.pt',
    'jobs = 3',
    '[resources]\ncpus = 1\nmemory = "600 MiB"',
  );
  const run = await harness.createRun();
  await supervise(await harness.supervision(run));
  assert.equal(maxParallel(await harness.trainings()), 1);
});

test('every GPU is given to one attempt at a time, and jobs without GPUs see none', async (t) => {
  const harness = await RunHarness.make(t);
  const command =
    'echo "$CUDA_VISIBLE_DEVICES" >> "$LOG"; mkdir "$LOG.$CUDA_VISIBLE_DEVICES" && sleep 0.2 && echo 1 > model.pt; rmdir "$LOG.$CUDA_VISIBLE_DEVICES"';
  await harness.describe(command, 'jobs = 4', '[resources]\ncpus = 1\nmemory = "10 MB"\ngpus = 1');
  const machine = { cpus: 8, memoryBytes: 2 ** 30, gpus: ['GPU-a', 'GPU-b'] };
  const env = await withGpus(harness, machine.gpus);
  const run = await harness.createRun();
  await supervise(await harness.supervision(run, { machine, env }));
  assert.equal((await loadRun(run)).tally.success, 4);
  const lines = await harness.trainings();
  assert.deepEqual(new Set(lines), new Set(['GPU-a', 'GPU-b']));
  await harness.describe('echo "none:$CUDA_VISIBLE_DEVICES" >> "$LOG"; echo 1 > model.pt');
  await supervise(await harness.supervision(await harness.createRun(), { machine }));
  assert.equal((await harness.trainings()).at(-1), 'none:');
});

test('a job that asks for more than the machine has is refused with figures, and nothing is created', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('true', '', '[resources]\ncpus = 4096\nmemory = "900 TB"');
  const { code, out, err } = await harness.updraft('submit');
  assert.equal(code, 3);
  assert.equal(out, '');
  assert.match(err, /cpus = 4096 \(it has \d+\)[^]*memory = 900 TB \(it has [\d.]+ [GTM]B\)/);
  assert.match(err, /fix: request less, or choose another pool/);
  assert.deepEqual(await harness.runs(), []);
});
