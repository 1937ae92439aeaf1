import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkOrder } from '../../job/job.ts';
import type { Scratch } from '../scratch.ts';
import { trainingEnv } from './shell.ts';

const scratch = { root: '/s', work: '/s/work', bin: '/s/bin', tmp: '/s/tmp', progress: '/s/p' } as Scratch;

const order = {
  run: 'r',
  attempt: 3,
  job: {
    id: '0007',
    train: { env: { PATH: '/mine', OMP_NUM_THREADS: '7' } },
  },
  data: [{ name: 'train.images', into: 'data/images' }],
  resources: { cpus: 4, gpus: 0 },
} as unknown as WorkOrder;

test("the user's settings win, but the chosen Python stays first on the PATH", () => {
  const env = trainingEnv(order, scratch, { PATH: '/usr/bin', OMP_NUM_THREADS: '2', HOME: '/h' });
  assert.equal(env['PATH'], '/s/bin:/mine');
  assert.equal(env['OMP_NUM_THREADS'], '7');
  assert.equal(env['HOME'], '/h');
  assert.equal(env['TMPDIR'], '/s/tmp');
});

test('data folders have names a shell can use', () => {
  const env = trainingEnv(order, scratch, {});
  assert.equal(env['UPDRAFT_DATA_TRAIN_IMAGES'], '/s/work/data/images');
  assert.equal(env['UPDRAFT_JOB'], '0007');
});

test('a scratch path too long for socket names keeps the TMPDIR of the machine', () => {
  const far = { ...scratch, tmp: `/${'long/'.repeat(20)}` };
  assert.equal(trainingEnv(order, far, { TMPDIR: '/var/tmp' })['TMPDIR'], '/var/tmp');
});

test('processes share the cores, whatever the pool says of all of them', () => {
  const own = { ...order, job: { ...order.job, train: { env: {} } } } as unknown as WorkOrder;
  const rank = { RANK: '1', LOCAL_RANK: '1', LOCAL_WORLD_SIZE: '2' };
  assert.equal(trainingEnv(own, scratch, { OMP_NUM_THREADS: '4' }, rank)['OMP_NUM_THREADS'], '2');
  assert.equal(trainingEnv(own, scratch, { OMP_NUM_THREADS: '4' })['OMP_NUM_THREADS'], '4');
  assert.equal(trainingEnv(order, scratch, {}, rank)['OMP_NUM_THREADS'], '7');
});
