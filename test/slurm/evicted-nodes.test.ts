import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { isThere, systemClock } from '@updraft/base';
import { readRunState } from '../../src/run/run-states.ts';
import { lossesOf, twoProcesses } from '../two-processes.ts';
import { project, slurmHarness } from './slurm-harness.ts';

const script = `${twoProcesses}\ntrain()\n`;

test('a training on two nodes that is evicted twice equals an undisturbed one', async (t) => {
  const files = project('exec python3 train.py', {
    resources: 'nodes = 2',
    train: 'checkpoint = "checkpoints"',
    run: 'jobs = 2',
  });
  const harness = await slurmHarness(t, files);
  if (harness === undefined) return;
  const marks = path.join(harness.folder, 'marks');
  await mkdir(marks);
  // Debian's PyTorch has no libuv.
  const env = `env = { MARKS = ${JSON.stringify(marks)}, USE_LIBUV = "0", GLOO_SOCKET_IFNAME = "lo" }\n`;
  const jobFile = files['updraft.toml']!.replace('"train.sh"]', '"train.sh", "train.py"]');
  await writeFile(
    path.join(harness.folder, 'updraft.toml'),
    jobFile.replace('[resources]', `${env}[resources]`),
  );
  await writeFile(path.join(harness.folder, 'train.py'), script);
  const run = await harness.submit();
  for (const place of ['0-3', '8-5']) {
    while (!(await isThere(path.join(marks, place)))) {
      const last = (await readRunState(run)).jobs[0]?.attempts.at(-1);
      assert.ok(last?.fault === undefined || last.fault.kind === 'evicted', JSON.stringify(last));
      await systemClock.sleep(250);
    }
    await harness.pool.evict(run, '0000');
  }
  const { jobs } = await harness.finish(run);
  assert.deepEqual(
    jobs.map(({ attempts }) => attempts.map(({ ending }) => ending)),
    [['evicted', 'evicted', 'success'], ['success']],
  );
  const [first, second] = ['0000', '0001'].map((job) =>
    readFile(path.join(run, `results/${job}/model.pt`), 'utf8'),
  );
  assert.equal(await first, await second);
  assert.equal(lossesOf(await first!).length, 96);
});
