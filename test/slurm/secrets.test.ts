import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { slurmHarness } from './slurm-harness.ts';

const secret = 'S3cr3t-of-the-cluster';

test('a secret reaches a training on Slurm and is left in no file of the run or the node', async (t) => {
  const harness = await slurmHarness(t, {
    key: `${secret}\n`,
    'updraft.toml': `
name = "secretive"
[train]
command = """
test ! -e ../../secrets.json || exit 3
echo "the key is $API_KEY"
echo "$API_KEY" | tr S s > out.txt
"""
outputs = ["out.txt"]
[train.secrets]
API_KEY = { from = "file", path = "key" }
[resources]
memory = "1 GB"
[run]
pool = "slurm"
`,
  });
  if (harness === undefined) return;
  const run = await harness.submit();
  const { jobs } = await harness.finish(run);
  assert.equal(jobs[0]?.outcome, 'success', JSON.stringify(jobs[0]?.attempts.at(-1)?.fault));
  const out = await readFile(path.join(run, 'results/0000/out.txt'), 'utf8');
  assert.equal(out, `${secret.replaceAll('S', 's')}\n`);
  const found = [run, harness.scratch].map((place) =>
    execFileSync('sh', ['-c', 'grep -rlF -e "$1" -- "$2" || true', 'sh', secret, place]).toString(),
  );
  assert.deepEqual(found, ['', '']);
});
