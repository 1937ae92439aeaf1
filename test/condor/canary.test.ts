import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import * as retry from '../../src/cli/commands/retry.ts';
import * as run from '../../src/cli/commands/run.ts';
import { configureSubmit } from '../../src/cli/commands/run.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { runCommand } from '../cli/run-command.ts';
import { condorHarness } from './condor-harness.ts';

const submit = { configure: configureSubmit };

const toml = `
name = "ladder"
[train]
command = "sh train.sh"
files = ["train.sh"]
outputs = ["out.txt"]
[run]
pool = "condor"
jobs = 4
`;

test('run queues the next canary batch while it watches; a failed batch stops that, until a retry succeeds', async (t) => {
  const harness = await condorHarness(t, { 'updraft.toml': toml, 'train.sh': 'exit 3' });
  if (harness === undefined) return;
  const context = {
    cwd: harness.folder,
    env: harness.env,
    pid: process.pid,
    kill: (pid: number, signal: NodeJS.Signals) => void process.kill(pid, signal),
  };
  await assert.rejects(
    runCommand(run, ['--canary', '1,2'], context),
    /job 0000 of the canary failed \(.*\); the other 3 jobs of ladder-\S+ were never queued/,
  );
  await writeFile(path.join(harness.folder, 'train.sh'), 'echo 1 > out.txt');
  const retried = await runCommand(retry, ['--with-new-files', '--json'], context);
  const { folder } = JSON.parse(retried.out) as { folder: string };
  await harness.until(folder, ({ tally }) => tally.success === 1);
  // Without a watcher the same command continues, once for each batch.
  const next = await runCommand(submit, [folder], context);
  assert.match(next.err, /all earlier jobs have a valid result, and 2 more are queued now/);
  await harness.until(folder, ({ tally }) => tally.success === 3);
  await runCommand(run, [folder], context);
  const state = await readRunState(folder);
  assert.deepEqual([state.tally.success, state.rounds], [4, 4]);
  assert.deepEqual(
    state.jobs.map(({ attempts }) => attempts.length),
    [2, 1, 1, 1],
  );
});
