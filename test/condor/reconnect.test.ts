import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { readRunState } from '../../src/run/run-states.ts';
import { testPool } from '../pool.ts';
import { condorBench, onlyJob, result } from './condor-bench.ts';
import { ownPool } from './own-pool.ts';

test('a job goes on while its scheduler is killed and comes back, and is read as the one attempt it is', async (t) => {
  const shared = await testPool(t);
  if (shared === undefined) return;
  const { bin, schedd } = await ownPool(t, shared.root, ['MASTER_BACKOFF_CONSTANT = 1']);
  const bench = await condorBench(t, {}, { env: { PATH: `${bin}:${process.env['PATH'] ?? ''}` } });
  if (bench === undefined) return;
  const go = path.join(bench.folder, 'go');
  await writeFile(
    path.join(bench.folder, 'updraft.toml'),
    `name = "kept"\n[train]\ncommand = '''echo begun >> out.txt; until [ -e "${go}" ]; do sleep 0.1; done'''\noutputs = ["out.txt"]\n[run]\npool = "condor"\n`,
  );
  const run = await bench.submit();
  await bench.until(run, (state) => onlyJob(state).attempts[0]?.agent?.phase === 'training');

  process.kill(await schedd(), 'SIGKILL');
  const log = path.join(run, 'events.log');
  while (!/^023 /m.test(await readFile(log, 'utf8'))) await systemClock.sleep(100);
  const back = onlyJob(await readRunState(run));
  assert.deepEqual([back.status, back.attempts.length], ['running', 1]);

  await writeFile(go, '');
  const job = onlyJob(await bench.finish(run));
  assert.deepEqual([job.outcome, job.attempts.length], ['success', 1], JSON.stringify(job));
  assert.equal(await result(run, 'out.txt'), 'begun\n');
});
