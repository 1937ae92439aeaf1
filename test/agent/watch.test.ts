import assert from 'node:assert/strict';
import { existsSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { folderNotes } from '../../src/agent/notes/shared-notes.ts';
import { RunNorms } from '../../src/agent/slow-slot/slow-slot.ts';
import type { WorkOrder } from '../../src/job/job.ts';
import { AgentHarness } from './agent-harness.ts';

test('a silent, idle training is ended at its limit, and the message says what was seen', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run({ train: { command: 'sleep 60', quietLimitSeconds: 1 } });
  assert.equal(exit, 111);
  assert.match(
    stderr,
    /the training of job 0000 on \S+ printed nothing and reported no progress for [1-9]\d*(\.\d)?s; meanwhile its (process|\d processes) used 0\.0 s of CPU/,
  );
});

test('a training whose GPU is idle is ended at its limit, although it prints', async (t) => {
  const harness = await AgentHarness.open(t);
  // Without PyTorch, nothing tests the GPU.
  for (const [name, line] of [
    ['nvidia-smi', 'echo "0, GPU-aa11, NVIDIA A100, 3, 550.54.14"'],
    ['python3', 'exit 3'],
  ] as const)
    writeFileSync(harness.at(name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
  const { exit, stderr } = await harness.run(
    {
      train: { command: 'while :; do echo here; sleep 0.2; done', idleLimitSeconds: 5 },
      resources: { cpus: 1, gpus: 1, memoryBytes: 1e9, diskBytes: 'auto' },
    },
    undefined,
    { PATH: `${harness.at('.')}:${process.env['PATH'] ?? ''}` },
  );
  assert.equal(exit, 111, stderr);
  assert.match(stderr, /the GPU of job 0000 on \S+ was idle for [1-9]\d*s while it printed/);
});

test('a silent, busy training gets three times the limit', async (t) => {
  const harness = await AgentHarness.open(t);
  const { exit, stderr } = await harness.run({
    // Three loops: one alone could look idle among twenty others.
    train: { command: 'for i in 1 2 3; do while :; do :; done & done; wait', quietLimitSeconds: 1 },
  });
  assert.equal(exit, 111);
  assert.match(stderr, /no progress for ([3-9]|[1-9]\d)s; meanwhile its 4 processes used \d+\.\d s of CPU/);
  assert.match(stderr, /report progress in the training, which is busy/);
});

test('an attempt leaves a slow machine with its checkpoint, and notes it for the run', async (t) => {
  const harness = await AgentHarness.open(t);
  const notesFolder = harness.at('notes');
  const others = (attempt: number): RunNorms =>
    new RunNorms({ job: { id: '0001', parameters: {} }, attempt } as WorkOrder, folderNotes(notesFolder));
  for (const attempt of [1, 2, 3]) await others(attempt).share({ seconds: 0.4, marks: [] });
  const { exit, stderr } = await harness.run({
    notesFolder,
    train: { command: 'echo 1 > ck/model.pt; echo "epoch 1/5"; sleep 60', checkpoint: 'ck' },
  });
  assert.equal(exit, 118, stderr);
  assert.match(
    stderr,
    /the first epoch of job 0000 is [\d.]+ times slower on .* than elsewhere: over .* s for what takes 0\.4 s/,
  );
  assert.ok(existsSync(harness.at('notes/slow/0000-1')));
  assert.equal(harness.entries('checkpoint-saved').length, 1);
  assert.deepEqual(harness.leftovers(), []);
});

test('an attempt at normal speed shares the time of its first epoch', async (t) => {
  const harness = await AgentHarness.open(t);
  const notesFolder = harness.at('notes');
  const { exit } = await harness.run({
    notesFolder,
    train: { command: 'echo epoch 1; sleep 0.6; echo epoch 2; sleep 0.6; echo 1 > model.pt' },
  });
  assert.equal(exit, 0);
  const seconds = harness.entries('first-epoch')[0]?.seconds ?? 0;
  assert.ok(seconds > 0, String(seconds));
  const order = { job: { id: '0001', parameters: {} }, attempt: 1 } as WorkOrder;
  const [reported] = await new RunNorms(order, folderNotes(notesFolder)).others();
  assert.equal(reported?.seconds.toFixed(3), seconds.toFixed(3));
});
