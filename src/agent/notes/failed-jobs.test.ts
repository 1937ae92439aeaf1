import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Fault } from '../../fault/fault.ts';
import type { Order } from '../../job/job.ts';
import { heedFailedJobs, tellFailedJob } from './failed-jobs.ts';
import type { SharedNotes } from './shared-notes.ts';

const notes = (): SharedNotes & { names: Set<string> } => {
  const names = new Set<string>();
  return {
    names,
    put: (note) => Promise.resolve(names.add(note.split('/')[1] ?? '').size > 0),
    list: () => Promise.resolve([...names]),
    read: () => Promise.resolve(undefined),
  };
};

const order = (id: string, attempt: number, failedJobs?: number): Order =>
  ({
    job: { id },
    attempt,
    recovery: { attempts: 3, firstWait: 1, mostWait: 1, ...(failedJobs === undefined ? {} : { failedJobs }) },
  }) as unknown as Order;

test('jobs that failed for good are counted, and then no other attempt begins', async () => {
  const shared = notes();
  await tellFailedJob(order('0000', 1, 2), shared, new Fault('training-failed', 'x'));
  await heedFailedJobs(order('0002', 1, 2), shared);
  await tellFailedJob(order('0001', 3, 2), shared, new Fault('transfer-failed', 'x'));
  await assert.rejects(
    heedFailedJobs(order('0002', 1, 2), shared),
    /given up: 0000, 0001 failed for good, and \[recovery\] failed_jobs = 2/,
  );
});

test('a failure that is tried again, an eviction and a stop are not for good', async () => {
  const shared = notes();
  await tellFailedJob(order('0000', 2, 1), shared, new Fault('transfer-failed', 'x'));
  await tellFailedJob(order('0001', 9, 1), shared, new Fault('evicted', 'x'));
  await tellFailedJob(order('0002', 9, 1), shared, new Fault('interrupted', 'x'));
  assert.deepEqual([...shared.names], []);
});

test('a run without a limit asks nobody', async () => {
  const shared = notes();
  await tellFailedJob(order('0000', 1), shared, new Fault('training-failed', 'x'));
  await heedFailedJobs(order('0001', 1), shared);
  assert.deepEqual([...shared.names], []);
});
