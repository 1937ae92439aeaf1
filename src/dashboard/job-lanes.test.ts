import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { imagenetRun } from '../../test/dashboard/imagenet-run.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { loadRun } from '@updraft/account/journal';
import { jobLanes } from './job-lanes.ts';

test('a job has lanes of its places, phases, checkpoints, GPU use and waits for data, over all attempts', async (t) => {
  const folder = path.join(await temporaryFolder(t), 'imagenet-k3v9q1');
  const run = await imagenetRun(folder, Date.now(), 3);
  const beat = { kind: 'heartbeat' as const, memoryBytes: 1e9, quietSeconds: 0 };
  // The second attempt of the third job starts 1466 s after its first, at second 140 of the run.
  await run.agent('0002', 2, [
    [1810, { ...beat, gpuPercent: 80 }],
    [1900, { ...beat, gpuPercent: 40 }],
    [3400, { kind: 'progress', epoch: 6, waited: 0 }],
    [3440, { kind: 'progress', epoch: 6, waited: 10 }],
  ]);
  const job = (await loadRun(folder)).jobs[2];
  assert.ok(job);
  const lanes = new Map((await jobLanes(folder, job)).map(({ name, ...lane }) => [name, lane]));
  assert.deepEqual([...lanes.keys()], ['place', 'phase', 'GPU use', 'data waits', 'checkpoints']);
  const places = lanes.get('place')?.bars ?? [];
  assert.deepEqual(
    places.map(({ words }) => words),
    ['attempt 1 at UChicago, evicted', 'attempt 2 at UChicago, running'],
  );
  assert.ok(places[0]!.to <= places[1]!.from && places[0]!.from === 0);
  const phases = lanes.get('phase')?.bars ?? [];
  assert.ok(phases.some(({ part }) => part === 'training') && phases.every(({ from, to }) => from < to));
  assert.deepEqual(
    lanes.get('GPU use')?.bars.map(({ words }) => words),
    ['80 %', '40 %'],
  );
  assert.equal(lanes.get('data waits')?.bars.at(-1)?.strength, 0.25);
  assert.equal(lanes.get('checkpoints')?.ticks?.length, 1);
});
