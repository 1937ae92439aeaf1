import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { testPool } from '../pool.ts';
import { condorHarness, onlyJob, result } from './condor-harness.ts';

const secret = `S3cr3t-of-a-job-${process.pid}-abcdef`;

test('a secret reaches a training on HTCondor, even after a checkpoint, and is in no file of the run or pool', async (t) => {
  const harness = await condorHarness(
    t,
    {
      'updraft.toml': `
name = "secretive"
[train]
command = """
test ! -e ../../secrets.json || exit 3
mkdir -p ckpt
if grep -rlF -e "$WANDB_API_KEY" --exclude='*agent*' "$_CONDOR_SCRATCH_DIR"; then exit 4; fi
echo "the key is $WANDB_API_KEY"
echo "$WANDB_API_KEY" | tr S s >> ckpt/state
if [ $(wc -l < ckpt/state) -lt 2 ]; then exit 85; fi
cp ckpt/state out.txt
"""
outputs = ["out.txt"]
checkpoint = "ckpt"
[train.secrets]
WANDB_API_KEY = { from = "env", name = "MY_KEY" }
[run]
pool = "condor"
attempts = 1
`,
    },
    { env: { MY_KEY: secret } },
  );
  if (harness === undefined) return;
  const run = await harness.submit();
  const job = onlyJob(await harness.finish(run));
  assert.equal(job.outcome, 'success', JSON.stringify(job.attempts.at(-1)?.fault ?? job.held));
  const changed = secret.replaceAll('S', 's');
  assert.equal(await result(run, 'out.txt'), `${changed}\n${changed}\n`);
  const home = (await testPool(t))?.home ?? '';
  const places = [run, ...['spool', 'execute', 'log'].map((name) => path.join(home, name))];
  const found = places.map((place) =>
    execFileSync('sh', ['-c', 'grep -rlF -e "$1" -- "$2" || true', 'sh', secret, place]).toString(),
  );
  assert.deepEqual(found, ['', '', '', '']);
  for (const name of ['plan.json', 'events.log', 'condor', 'jobs', 'condor/orders/0000.json'])
    assert.equal((await stat(path.join(run, name))).mode & 0o077, 0, name);
});
