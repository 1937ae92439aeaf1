import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import type { Env } from '@updraft/base';
import type { WorkOrder } from '../../job/job.ts';
import { readSharedOrder } from './order.ts';
import type { Context } from '../attempt.ts';

const train = { command: 'true', files: [], outputs: ['model.pt'], env: {} };
const order = {
  version: 1,
  run: 'bench',
  data: [],
  environment: { python: [] },
  filesFrom: 'rounds/2/files',
  job: { id: '0003', parameters: {}, train },
  resources: { cpus: 1, gpus: 0, memoryBytes: 1 },
};

async function read(run: string, env: Env, timeSeconds?: number): Promise<WorkOrder> {
  const file = path.join(run, 'order.json');
  await writeFile(file, JSON.stringify({ ...order, resources: { ...order.resources, timeSeconds } }));
  const context = { cwd: '/scratch', env, clock: { now: () => 1_000_000 } } as unknown as Context;
  return await readSharedOrder(file, { run, attempt: 2, node: 0 }, context);
}

test('results and journals go to the run folder, scratch to where the agent was started', async (t) => {
  const run = await temporaryFolder(t);
  const placed = await read(run, {});
  assert.equal(placed.attempt, 2);
  assert.equal(placed.scratchParent, '/scratch');
  assert.equal(placed.filesFrom, path.join(run, 'rounds/2/files'));
  assert.equal(placed.resultsTo, path.join(run, 'results/0003'));
  assert.equal(placed.attemptFolder, path.join(run, 'jobs/0003/attempt-2'));
  assert.equal(placed.notesFolder, path.join(run, 'notes'));
  assert.equal(placed.resources.timeSeconds, undefined);
});

test("the attempt ends by itself before Slurm's limit, even if the job file sets no limit or a longer one", async (t) => {
  const run = await temporaryFolder(t);
  const left = async (seconds: number, asked?: number) =>
    (await read(run, { SLURM_JOB_END_TIME: String(1000 + seconds) }, asked)).resources.timeSeconds;
  assert.equal(await left(3600), 3510);
  assert.equal(await left(3600, 7200), 3510);
  assert.equal(await left(3600, 60), 60);
  assert.equal(await left(100), 90);
});
