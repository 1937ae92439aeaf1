import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { RehearsalStep } from '../../src/run/rehearse/rehearse-run.ts';
import { RunHarness } from './run-harness.ts';

/** Before the third attempt it is long enough to be evicted however busy the machine is. */
const resuming = `
e=$(cat ckpt/epoch 2>/dev/null || echo 0)
[ $UPDRAFT_ATTEMPT -gt 2 ] && last=$((e + 4)) || last=200
while [ $e -lt $last ]; do e=$((e + 1)); echo "epoch $e/200 loss 0.5"; sleep 1; echo $e > ckpt/epoch; done
cp data/data.bin model.pt
`;

test('a job that resumes is evicted twice for real, and every step is shown', async (t) => {
  const harness = await RunHarness.make(t);
  await harness.describe('sh train.sh', 'jobs = 3');
  const file = path.join(harness.folder, 'updraft.toml');
  const text = await readFile(file, 'utf8');
  const data = path.join(harness.folder, 'data.bin');
  await writeFile(data, Buffer.alloc(100_000, 7));
  await writeFile(path.join(harness.folder, 'train.sh'), resuming);
  await writeFile(
    file,
    `${text.replace('outputs =', 'files = ["train.sh"]\ncheckpoint = "ckpt"\noutputs =')}
[data.one]\nurl = "file://${data}"\ninto = "data"\n`,
  );
  const { code, out, err } = await harness.updraft('rehearse', '--json');
  const { run, proofs } = JSON.parse(out) as { run: string; proofs: RehearsalStep[] };
  assert.equal(code, 0, err);
  assert.match(run, /^rehearsal-bench-/);
  assert.deepEqual(
    proofs.map(({ name, result }) => [name, result]),
    [
      ['evicted during the transfer', 'shown'],
      ['data fetched again', 'shown'],
      ['evicted during the training', 'shown'],
      ['checkpoint kept', 'shown'],
      ['training resumed', 'shown'],
      ['scratch cleaned up', 'shown'],
      ['valid result', 'shown'],
    ],
  );
  const [runFolder] = await harness.runs();
  const state = await harness.until(runFolder!, ({ endedAt }) => endedAt !== undefined);
  assert.deepEqual(
    state.jobs.map(({ attempts }) => attempts.map(({ ending }) => ending)),
    [['evicted', 'evicted', 'success']],
  );
  assert.ok(proofs.filter(({ lostMillis }) => lostMillis !== undefined && lostMillis > 0).length === 2);
  assert.deepEqual(await readdir(harness.scratch), []);
});
