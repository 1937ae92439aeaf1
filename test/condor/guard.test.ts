import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { attemptFiles, attemptFolder, runFiles } from '@updraft/account/run-folder';
import { condorFiles } from '../../src/pool/condor/condor-files.ts';
import { condorHarness } from './condor-harness.ts';

test("a job on a slow slot moves to another, judging by the running jobs' shared notes", async (t) => {
  const command =
    'echo epoch 1; if [ "$UPDRAFT_JOB-$UPDRAFT_ATTEMPT" = 0003-1 ]; then sleep 600; fi; sleep 1; echo epoch 2; echo 1 > model.pt; sleep 1';
  const harness = await condorHarness(t, {
    'updraft.toml': `
name = "slow-slot"
[train]
command = '''${command}'''
outputs = ["model.pt"]
slow_limit = 6
[run]
pool = "condor"
jobs = 4
`,
  });
  if (harness === undefined) return;
  const run = await harness.submit();
  const state = await harness.finish(run);
  assert.equal(state.tally.success, 4, JSON.stringify(state.tally));
  const [first, second, ...more] = state.jobs[3]?.attempts ?? [];
  assert.equal(first?.exit, 118);
  assert.match(
    first.fault?.message ?? '',
    /the first epoch of job 0003 is .* than elsewhere: .* \(median of 3 attempts/,
  );
  assert.equal(second?.ending, 'success');
  assert.deepEqual(more, []);
  const folders = await readdir(path.join(run, runFiles.notes));
  assert.deepEqual(
    folders.map((name) => name.replace(/-.*/, '')),
    ['norms', 'slow'],
  );
  assert.deepEqual(await readdir(path.join(run, runFiles.notes, 'slow')), ['0003-1']);
  const log = await readFile(path.join(run, condorFiles.eventLog), 'utf8');
  assert.doesNotMatch(log, /Job disconnected/, 'shared notes must not cost a job its shadow');
});

test('a slot that only claims to have a GPU is left at once, and the machine is named', async (t) => {
  const harness = await condorHarness(t, {
    'updraft.toml': `
name = "no-gpu"
[train]
command = "echo 1 > model.pt"
outputs = ["model.pt"]
[resources]
gpus = 1
[run]
pool = "condor"
attempts = 1
`,
  });
  if (harness === undefined) return;
  const run = await harness.submit();
  const state = await harness.until(run, ({ jobs }) => jobs[0]?.attempts[0]?.exit === 115);
  const [attempt] = state.jobs[0]?.attempts ?? [];
  assert.equal(attempt?.exit, 115, JSON.stringify(attempt));
  assert.match(
    attempt.fault?.message ?? '',
    /\S+ \(\S+\) failed the self-test: gpu: there is no GPU: neither nvidia-smi nor/,
  );
  assert.equal(attempt.agent?.training, undefined);
});

test('notes that cannot be written cost an attempt nothing', async (t) => {
  const harness = await condorHarness(t, {
    'updraft.toml': `
name = "no-notes"
[train]
command = "sleep 2; echo epoch 1; sleep 1; echo epoch 2; sleep 1; echo 1 > model.pt"
outputs = ["model.pt"]
[run]
pool = "condor"
`,
  });
  if (harness === undefined) return;
  const run = await harness.submit();
  // A file in place of the folder.
  await writeFile(path.join(run, runFiles.notes), '');
  const state = await harness.finish(run);
  assert.equal(state.tally.success, 1);
  assert.equal(state.jobs[0]?.attempts.length, 1);
  const journal = await readFile(path.join(attemptFolder(run, '0000', 1), attemptFiles.journal), 'utf8');
  assert.match(journal, /"kind":"first-epoch"/);
  const log = await readFile(path.join(run, condorFiles.eventLog), 'utf8');
  assert.doesNotMatch(log, /Job disconnected/);
});
