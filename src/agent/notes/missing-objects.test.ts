import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import { Fault } from '@updraft/account/fault';
import type { WorkOrder } from '../../job/job.ts';
import { MissingObjects, abortIfTooManyJobsFailed, recordFailedJob } from './missing-objects.ts';
import type { SharedNotes } from './shared-notes.ts';

const pace = { attempts: 5, initialBackoff: 300, maxBackoff: 3600 };
const object = 'osdf:///ns/a.tar';

function notesIn(notes: Map<string, string>): SharedNotes {
  return {
    put: (name, text) => Promise.resolve(notes.set(name, text).has(name)),
    list: () => Promise.resolve([...notes.keys()]),
    read: (name) => Promise.resolve(notes.get(name)),
  };
}

/** Two attempts of a run, on two machines with the same time. */
function pair(): {
  clock: ManualClock;
  one: MissingObjects;
  other: MissingObjects;
  notes: Map<string, string>;
} {
  const notes = new Map<string, string>();
  const clock = new ManualClock();
  const shared = notesIn(notes);
  return {
    clock,
    notes,
    one: new MissingObjects(shared, clock, pace),
    other: new MissingObjects(shared, clock, pace),
  };
}

test('after one attempt found an object missing, the others wait before they ask', async () => {
  const { clock, one, other } = pair();
  await one.markMissing(object);
  await assert.rejects(
    other.throwIfMissing(object),
    /is missing everywhere, as another attempt .* next check is at/,
  );
  await other.throwIfMissing('osdf:///ns/b.tar');
  await clock.pass(300_000);
  await other.throwIfMissing(object);
});

test('when the wait is over one attempt checks for all, and the others wait for it', async () => {
  const { clock, one, other } = pair();
  await one.markMissing(object);
  await clock.pass(300_000);
  await one.throwIfMissing(object);
  await assert.rejects(other.throwIfMissing(object), /missing everywhere/);
  await clock.pass(60_000);
  await other.throwIfMissing(object);
});

test('each further miss doubles the wait, and finding the object ends it for all', async () => {
  const { clock, one, other } = pair();
  await one.markMissing(object);
  await clock.pass(300_000);
  await one.throwIfMissing(object);
  await one.markMissing(object);
  await clock.pass(599_000);
  await assert.rejects(other.throwIfMissing(object), /missing everywhere/);
  await clock.pass(1000);
  await one.throwIfMissing(object);
  await one.markPresent(object);
  await other.throwIfMissing(object);
  await one.markMissing(object);
  await clock.pass(300_000);
  await other.throwIfMissing(object);
});

test('attempts that miss an object at the same time count as one miss', async () => {
  const { clock, one, other } = pair();
  for (const attempt of [one, other, one, other]) await attempt.markMissing(object);
  await clock.pass(300_000);
  await other.throwIfMissing(object);
  await one.markMissing(object);
  await other.markMissing(object);
  await clock.pass(599_000);
  await assert.rejects(one.throwIfMissing(object), /missing everywhere/);
  await clock.pass(1000);
  await one.throwIfMissing(object);
});

test('an invalid note is ignored', async () => {
  const { notes, one } = pair();
  await one.markMissing(object);
  const [name = ''] = notes.keys();
  for (const text of ['', '{', 'null', '[]', '{"until":"x"}', '{"until":9e99,"misses":1}']) {
    notes.set(name, text);
    await one.throwIfMissing(object);
  }
});

const notes = (): SharedNotes & { names: Set<string> } => {
  const names = new Set<string>();
  return {
    names,
    put: (record) => Promise.resolve(names.add(record.split('/')[1] ?? '').size > 0),
    list: () => Promise.resolve([...names]),
    read: () => Promise.resolve(undefined),
  };
};

const order = (id: string, attempt: number, failedJobs?: number): WorkOrder =>
  ({
    job: { id },
    attempt,
    recovery: {
      attempts: 3,
      initialBackoff: 1,
      maxBackoff: 1,
      ...(failedJobs === undefined ? {} : { failedJobs }),
    },
  }) as unknown as WorkOrder;

test('when too many jobs have failed for good, no other attempt starts', async () => {
  const shared = notes();
  await recordFailedJob(order('0000', 1, 2), shared, new Fault('training-failed', 'x'));
  await abortIfTooManyJobsFailed(order('0002', 1, 2), shared);
  await recordFailedJob(order('0001', 3, 2), shared, new Fault('transfer-failed', 'x'));
  await assert.rejects(
    abortIfTooManyJobsFailed(order('0002', 1, 2), shared),
    /given up: 0000, 0001 failed for good, and \[recovery\] failed_jobs = 2/,
  );
});

test('a failure that is retried, an eviction and a stop do not count as failed for good', async () => {
  const shared = notes();
  await recordFailedJob(order('0000', 2, 1), shared, new Fault('transfer-failed', 'x'));
  await recordFailedJob(order('0001', 9, 1), shared, new Fault('evicted', 'x'));
  await recordFailedJob(order('0002', 9, 1), shared, new Fault('interrupted', 'x'));
  assert.deepEqual([...shared.names], []);
});

test('a run without a limit writes no notes', async () => {
  const shared = notes();
  await recordFailedJob(order('0000', 1), shared, new Fault('training-failed', 'x'));
  await abortIfTooManyJobsFailed(order('0001', 1), shared);
  assert.deepEqual([...shared.names], []);
});
