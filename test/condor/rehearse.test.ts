import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import * as rehearse from '../../src/cli/commands/rehearse.ts';
import { runCommand } from '../cli/run-command.ts';
import { condorHarness } from './condor-harness.ts';

/** Saves at every epoch, but never reads its checkpoint; long enough to be evicted however busy the pool is. */
const forgetful = `
e=0
[ $UPDRAFT_ATTEMPT -gt 2 ] && last=12 || last=200
while [ $e -lt $last ]; do e=$((e + 1)); echo "epoch $e/200 loss 0.5"; sleep 1; echo $e > ckpt/epoch; done
cp data/data.bin out.txt
`;

test('a rehearsal on HTCondor vacates the job twice, and finds that the training does not read its checkpoint', async (t) => {
  const harness = await condorHarness(t, { 'train.sh': forgetful });
  if (harness === undefined) return;
  const data = path.join(harness.folder, 'data.bin');
  await writeFile(data, Buffer.alloc(100_000, 7));
  await writeFile(
    path.join(harness.folder, 'updraft.toml'),
    `name = "forgetful"
[train]\ncommand = "sh train.sh"\nfiles = ["train.sh"]\noutputs = ["out.txt"]\ncheckpoint = "ckpt"
[data.one]\nurl = "file://${data}"\ninto = "data"
[run]\npool = "condor"\n`,
  );
  let out = '';
  await assert.rejects(
    runCommand(rehearse, [], {
      cwd: harness.folder,
      env: harness.env,
      pid: process.pid,
      out: (text: string) => void (out += text),
      kill: (pid: number, signal: NodeJS.Signals) => void process.kill(pid, signal),
    }),
    /not proven: training resumed/,
  );
  assert.match(out, /✓ evicted during the transfer +attempt 1, when all 100 kB had arrived/);
  assert.match(out, /✓ data fetched again +fetched again, 100 kB; \S+ lost/);
  assert.match(out, /✓ evicted during the training +attempt 2, at epoch \d+/);
  assert.match(out, /✓ checkpoint kept +1 file/);
  assert.match(
    out,
    /✗ training resumed +the training started at epoch 1 again\n +fix: load the checkpoint in ckpt/,
  );
  assert.match(out, /✓ scratch cleaned up +left to the pool, which removes the sandbox of each attempt/);
  assert.match(out, /✓ valid result/);
});
