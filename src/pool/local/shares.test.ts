import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import { test, type TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import { identifyProcess, type ProcessIdentity } from '@updraft/base/processes';
import { makeClaim, readClaim } from '../../job/claim.ts';
import type { Resources } from '../../job/spec.ts';
import { heldByRuns, Shares } from './shares.ts';

const self = identifyProcess(process.pid)!;
const dead: ProcessIdentity = { ...self, start: self.start.replace(/\d+$/, '1') };
const want: Resources = { cpus: 1, gpus: 1, memoryBytes: 100, diskBytes: 'auto' };

async function poolFor(t: TestContext): Promise<{ folder: string; as: (owner: ProcessIdentity) => Shares }> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'shares-'));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const machine = { cpus: 2, memoryBytes: 1000, gpus: ['GPU-a', 'GPU-b'] };
  return { folder, as: (owner) => new Shares(path.join(folder, 'pool'), machine, owner, systemClock) };
}

test('shares are granted while there is room, GPUs one by one, and can be released', async (t) => {
  const shares = (await poolFor(t)).as(self);
  assert.deepEqual((await shares.take('/run/1', want))!.gpus, ['GPU-a']);
  assert.deepEqual((await shares.take('/run/2', want))!.gpus, ['GPU-b']);
  assert.equal(await shares.take('/run/3', { ...want, gpus: 0 }), undefined);
  await shares.release('/run/1');
  assert.deepEqual((await shares.take('/run/3', want))!.gpus, ['GPU-a']);
});

test('CPUs, memory or GPUs can be lacking', async (t) => {
  const shares = (await poolFor(t)).as(self);
  assert.equal(await shares.take('/run/1', { ...want, cpus: 3 }), undefined);
  assert.equal(await shares.take('/run/1', { ...want, gpus: 3 }), undefined);
  // A request that grew beyond the machine gets all of its memory, once no other attempt has any.
  assert.equal((await shares.take('/run/1', { ...want, cpus: 1, memoryBytes: 1001 }))?.memoryBytes, 1000);
  assert.equal(await shares.take('/run/2', { ...want, memoryBytes: 1, gpus: 0 }), undefined);
});

test('which runs hold how much is known without a lease, except of dead supervisors', async (t) => {
  const { folder, as } = await poolFor(t);
  await as(self).take('/home/runs/a-1/jobs/0000/attempt-1', { ...want, gpus: 0 });
  await as(dead).take('/home/runs/b-2/jobs/0000/attempt-1', { ...want, gpus: 0 });
  assert.deepEqual(await heldByRuns(path.join(folder, 'pool')), [{ run: 'a-1', cpus: 1 }]);
  assert.deepEqual(await heldByRuns(path.join(folder, 'nowhere')), []);
});

test('concurrent requests never get more than the machine has', async (t) => {
  const { as } = await poolFor(t);
  const taken = await Promise.all(
    Array.from({ length: 12 }, (_, i) => as(self).take(`/run/${i}`, { ...want, gpus: 0 })),
  );
  assert.equal(taken.filter((share) => share !== undefined).length, 2);
});

test('a share whose supervisor is dead counts while the agent is alive', async (t) => {
  const { folder, as } = await poolFor(t);
  const attempt = path.join(folder, 'attempt');
  await mkdir(attempt);
  await as(dead).take(attempt, { ...want, cpus: 2 });
  await makeClaim(attempt, self);
  assert.equal(await as(self).take('/run/2', want), undefined);
});

test('a share whose supervisor and agent are dead is free again', async (t) => {
  const { folder, as } = await poolFor(t);
  const attempt = path.join(folder, 'attempt');
  await mkdir(attempt);
  await as(dead).take(attempt, { ...want, cpus: 2 });
  await makeClaim(attempt, dead);
  assert.ok(await as(self).take('/run/2', want));
});

test('freeing the share of an unclaimed attempt voids the attempt, so that it cannot run without one', async (t) => {
  const { folder, as } = await poolFor(t);
  const attempt = path.join(folder, 'attempt');
  await mkdir(attempt);
  await as(dead).take(attempt, { ...want, cpus: 2 });
  assert.ok(await as(self).take('/run/2', want));
  assert.ok('void' in (await readClaim(attempt))!);
});

test('shares of runs that were deleted, and half-written ones, are dropped', async (t) => {
  const { folder, as } = await poolFor(t);
  await as(dead).take('/no/such/run', { ...want, cpus: 2 });
  await writeFile(path.join(folder, 'pool', 'torn.share'), '{"cpus":');
  assert.ok(await as(self).take('/run/2', { ...want, cpus: 2 }));
  assert.equal(
    (await readdir(path.join(folder, 'pool'))).filter((name) => name.endsWith('.share')).length,
    1,
  );
});
