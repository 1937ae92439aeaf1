import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import process from 'node:process';
import { test } from 'node:test';
import { readClaim } from '../../src/job/claim.ts';
import { attemptFolder } from '@updraft/account/run-folder';
import { RunHarness } from './run-harness.ts';

async function declareCheckpoint(harness: RunHarness): Promise<void> {
  const file = path.join(harness.folder, 'updraft.toml');
  await writeFile(file, (await readFile(file, 'utf8')).replace('[train]', '[train]\ncheckpoint = "ckpt"'));
}

test('a training that needs more time than an attempt has continues in as many as it takes', async (t) => {
  const harness = await RunHarness.make(t);
  const command = `n=$(cat ckpt/step || echo 0); trap 'exit 1' TERM
    while [ $n -lt 20 ]; do n=$((n+1)); echo "step $n"; echo $n > ckpt/part; mv ckpt/part ckpt/step; sleep 0.4 & wait; done; echo $n > model.pt`;
  await harness.describe(command, 'attempts = 1', '[resources]\ncpus = 1\nmemory = "10 MB"\ntime = "5s"');
  await declareCheckpoint(harness);
  assert.equal((await harness.updraft('submit')).code, 0);
  const [run = ''] = await harness.runs();
  const { tally, jobs } = await harness.until(run, ({ endedAt }) => endedAt !== undefined);
  assert.equal(tally.success, 1, JSON.stringify(jobs[0]?.attempts.at(-1)?.fault));
  const cut = jobs[0]!.attempts.slice(0, -1);
  assert.ok(cut.length >= 2);
  for (const { fault } of cut) assert.equal(fault?.kind, 'time-limit');
});

test('a training whose agent is killed resumes from its last checkpoint, and status and why say so', async (t) => {
  const harness = await RunHarness.make(t);
  const command = `n=$(cat ckpt/step || echo 0); [ $n = 0 ] || echo "step $((n+1))"
    while [ $UPDRAFT_ATTEMPT = 1 ]; do n=$((n+1)); echo "step $n"; echo $n > ckpt/part; mv ckpt/part ckpt/step; sleep 2.5; done
    while [ ! -e "$GO" ]; do sleep 0.1; done; echo $n > model.pt`;
  await harness.describe(command);
  await declareCheckpoint(harness);
  assert.equal((await harness.updraft('submit')).code, 0);
  const [run = ''] = await harness.runs();
  const saved = await harness.until(
    run,
    ({ jobs }) => (jobs[0]?.attempts[0]?.agent?.checkpoint?.step ?? 0) >= 2,
  );
  const step = saved.jobs[0]!.attempts[0]!.agent!.checkpoint!.step!;
  const claim = await readClaim(attemptFolder(run, '0000', 1));
  assert.ok(claim !== undefined && 'pid' in claim);
  process.kill(claim.pid, 'SIGKILL');
  await harness.until(run, ({ jobs }) => jobs[0]?.attempts[1]?.agent?.resumed?.movedOn === true);
  assert.match((await harness.updraft('status')).out, new RegExp(`resumed from step ${step} of attempt 1`));
  const why = (await harness.updraft('why')).out.replace(/\s+/g, ' ');
  assert.match(why, new RegExp(`It resumed from step ${step} of attempt 1, and has passed it`));
  await writeFile(harness.env['GO'] ?? '', '');
  const { tally } = await harness.until(run, ({ endedAt }) => endedAt !== undefined);
  assert.equal(tally.success, 1);
});
