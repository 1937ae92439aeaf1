import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ManualClock } from '../../../test/agent/manual-clock.ts';
import type { Fault } from '@updraft/account/fault';
import type { Scalar } from '../../job/spec.ts';
import type { AgentBody } from '@updraft/account/journal';
import type { Attempt } from '../attempt.ts';
import type { SharedNotes } from '../notes/shared-notes.ts';
import { SlowSlot } from './slow-slot.ts';

/** The notes of one run, in memory, and how often they were read. */
function runNotes() {
  const notes = new Map<string, string>();
  let asked = 0;
  const shared: SharedNotes = {
    put: (name, text) => Promise.resolve(Boolean(notes.set(name, text))),
    list: (folder) => {
      asked++;
      const own = [...notes.keys()].filter((name) => name.startsWith(`${folder}/`));
      return Promise.resolve(own.map((name) => name.slice(folder.length + 1)).sort());
    },
    read: (name) => Promise.resolve(notes.get(name)),
  };
  return { notes, shared, asked: () => asked };
}

interface Training {
  job: string;
  attempt?: number;
  slowLimit?: number;
  parameters?: Record<string, Scalar>;
  isFresh?: boolean;
}

/** A training that its watch polls twice a second. */
function training(
  shared: SharedNotes,
  { job, attempt = 1, parameters = {}, isFresh = true, ...train }: Training,
) {
  const clock = new ManualClock();
  const reported: AgentBody[] = [];
  const slot = new SlowSlot(
    {
      order: { job: { id: job, parameters, train }, attempt, data: [] },
      context: { clock, env: { GLIDEIN_ResourceName: 'SITE-A' } },
      record: (body: AgentBody) => void reported.push(body),
      shared,
    } as unknown as Attempt,
    isFresh,
  );
  const advance = async (seconds: number): Promise<Fault | undefined> => {
    for (let half = 0; half < seconds * 2; half++) {
      await clock.pass(500);
      slot.check();
      await new Promise((resolve) => setImmediate(resolve));
      const fault = slot.check();
      if (fault !== undefined) return fault;
    }
    return undefined;
  };
  return { slot, reported, goOn: advance, now: () => clock.monotonic() / 1000 };
}

async function firstEpochs(
  shared: SharedNotes,
  seconds: number[],
  parameters?: Record<string, Scalar>,
): Promise<void> {
  for (const [index, took] of seconds.entries()) {
    const { slot, goOn: advance } = training(shared, {
      job: `100${index}`,
      ...(parameters && { parameters }),
    });
    slot.onProgress({ epoch: 1 });
    await advance(took);
    slot.onProgress({ epoch: 2 });
    await advance(1);
  }
}

test('an attempt whose first epoch takes over three times as long as elsewhere leaves before it ends', async () => {
  const { shared, notes } = runNotes();
  await firstEpochs(shared, [10, 12, 11]);
  const { slot, goOn: advance, now } = training(shared, { job: '0007' });
  slot.onProgress({ epoch: 1 });
  const fault = await advance(100);
  assert.equal(fault?.kind, 'slow-slot');
  assert.equal(now(), 33.5);
  assert.match(
    fault.message,
    /^the first epoch of job 0007 is 3 times slower on \S+ \(SITE-A\) than elsewhere: over 33\.5 s for what takes 11\.0 s \(median of 3 attempts of this run\)$/,
  );
  assert.ok(notes.has('slow/0007-1'));
});

/** Reports every step of its first epoch, and then the second epoch; returns the Fault if it leaves. */
async function throughSteps(
  { slot, goOn: advance }: Pick<ReturnType<typeof training>, 'slot' | 'goOn'>,
  steps: readonly number[],
): Promise<Fault | undefined> {
  for (const [index, seconds] of steps.entries()) {
    const fault = await advance(seconds);
    if (fault !== undefined) return fault;
    slot.onProgress({ epoch: 0, step: index + 1 });
  }
  slot.onProgress({ epoch: 1 });
  return await advance(1);
}

const tenSteps = (seconds: number): number[] => new Array<number>(10).fill(seconds);

async function threeThroughSteps(shared: SharedNotes, steps: readonly number[]): Promise<void> {
  for (const job of ['1001', '1002', '1003']) await throughSteps(training(shared, { job }), steps);
}

test('if a training reports steps, a slow machine is left within the first epoch', async () => {
  const { shared } = runNotes();
  await threeThroughSteps(shared, [30, ...tenSteps(20)]);
  const late = training(shared, { job: '0007' });
  const fault = await throughSteps(late, [105, ...tenSteps(70)]);
  assert.equal(fault?.kind, 'slow-slot');
  assert.equal(late.now(), 90.5);
  assert.match(fault.message, /is 3 times slower .*: over 90\.5 s for what takes 30\.0 s/);
  // One that reported its first step in time is judged by the next two: 40 s elsewhere.
  const later = training(shared, { job: '0008' });
  assert.equal((await throughSteps(later, [30, ...tenSteps(70)]))?.kind, 'slow-slot');
  assert.equal(later.now(), 30 + 120.5);
  assert.equal(await throughSteps(training(shared, { job: '0009' }), [80, ...tenSteps(55)]), undefined);
});

test('first steps that are slow by nature are compared with each other', async () => {
  const { shared } = runNotes();
  await threeThroughSteps(shared, [60, ...tenSteps(2)]);
  assert.equal(await throughSteps(training(shared, { job: '0007' }), [150, ...tenSteps(2)]), undefined);
  const late = training(shared, { job: '0008' });
  assert.equal((await throughSteps(late, [200]))?.kind, 'slow-slot');
  assert.equal(late.now(), 180.5);
});

test('a brief slowdown does not make a slow machine', async () => {
  const { shared } = runNotes();
  await threeThroughSteps(shared, tenSteps(1));
  assert.equal(await throughSteps(training(shared, { job: '0007' }), [19, ...tenSteps(1)]), undefined);
  assert.equal(await throughSteps(training(shared, { job: '0008' }), [1, 1, 9, ...tenSteps(1)]), undefined);
});

test('a resumed training is judged by a whole epoch: its position says nothing about its work here', async () => {
  const { shared } = runNotes();
  await threeThroughSteps(shared, tenSteps(10));
  const { slot, goOn: advance } = training(shared, { job: '0008', isFresh: false });
  slot.onProgress({ epoch: 0, step: 2 });
  assert.equal(await advance(299), undefined);
  assert.equal((await advance(5))?.kind, 'slow-slot');
});

test('a training that reports one step at the end of the epoch is judged by the epoch', async () => {
  const { shared } = runNotes();
  await threeThroughSteps(shared, [30]);
  const { slot, goOn: advance } = training(shared, { job: '0007' });
  assert.equal(await advance(60), undefined);
  slot.onProgress({ epoch: 0, step: 1 });
  assert.equal(await advance(29), undefined);
});

test('steps reported before any epoch are ignored', async () => {
  const { shared, notes } = runNotes();
  const one = training(shared, { job: '0001' });
  one.slot.onProgress({ step: 900 });
  await throughSteps(one, tenSteps(10));
  const marks = JSON.parse([...notes.values()][0] ?? '') as [number, number][];
  assert.deepEqual(marks[0], [1, 10]);
});

test('no slot is slow with fewer than three timings, or if the user turned it off', async () => {
  const { shared } = runNotes();
  await firstEpochs(shared, [10, 10]);
  assert.equal(await training(shared, { job: '0007' }).goOn(200), undefined);
  await firstEpochs(shared, [10, 10, 10]);
  assert.equal(await training(shared, { job: '0007', slowLimit: 0 }).goOn(200), undefined);
  assert.equal((await training(shared, { job: '0007', slowLimit: 2 }).goOn(200))?.kind, 'slow-slot');
});

test('a job that has left two machines stays on the third and records it', async () => {
  const { shared } = runNotes();
  await firstEpochs(shared, [10, 10, 10]);
  for (const attempt of [1, 2])
    assert.equal((await training(shared, { job: '0007', attempt }).goOn(100))?.kind, 'slow-slot');
  const { slot, reported, goOn: advance } = training(shared, { job: '0007', attempt: 3 });
  slot.onProgress({ epoch: 1 });
  assert.equal(await advance(100), undefined);
  const [stays] = reported;
  assert.ok(stays?.kind === 'first-epoch');
  assert.match(stays.said ?? '', /the job stays, because it has already left 2 slow machines/);
  assert.equal((await training(shared, { job: '0008' }).goOn(100))?.kind, 'slow-slot');
});

test('an epoch that ends too late is judged too, and its timing is not shared', async () => {
  const { shared, notes } = runNotes();
  const { slot, goOn: advance, reported } = training(shared, { job: '0007' });
  slot.onProgress({ epoch: 1 });
  await advance(40);
  await firstEpochs(shared, [10, 10, 10]);
  slot.onProgress({ epoch: 2 });
  assert.equal((await advance(1))?.kind, 'slow-slot');
  assert.deepEqual(reported, [{ kind: 'first-epoch', seconds: 40 }]);
  assert.equal([...notes.keys()].filter((name) => name.startsWith('norms')).length, 3);
});

test('jobs with other parameters are not compared, except for seeds', async () => {
  const { shared } = runNotes();
  await firstEpochs(shared, [10, 10, 10], { model: 'small', seed: 1 });
  const big = training(shared, { job: '0007', parameters: { model: 'big', seed: 1 } });
  assert.equal(await big.goOn(100), undefined);
  const small = training(shared, { job: '0008', parameters: { seed: 2, model: 'small' } });
  assert.equal((await small.goOn(100))?.kind, 'slow-slot');
});

test('timings of resumed trainings are not shared, and invalid notes are ignored', async () => {
  const { shared, notes } = runNotes();
  const { slot, goOn: advance, reported } = training(shared, { job: '0001', isFresh: false });
  slot.onProgress({ epoch: 4 });
  await advance(1);
  slot.onProgress({ epoch: 5 });
  await advance(1);
  assert.equal(notes.size, 0);
  assert.deepEqual(reported, []);
  await firstEpochs(shared, [10, 10]);
  const folder = [...notes.keys()][0]?.split('/')[0] ?? '';
  const nonsense = ['10', '[0]', '[-5]', '[null]', '', '[]', '{}', '[[1],10]', '[["1",5],10]', '[[1,11],10]'];
  for (const [index, text] of nonsense.entries()) notes.set(`${folder}/200${index}-1`, text);
  assert.equal(await training(shared, { job: '0007' }).goOn(100), undefined);
});

test('if its departure cannot be recorded, the attempt stays: it might leave for ever', async () => {
  const { shared } = runNotes();
  await firstEpochs(shared, [10, 10, 10]);
  const mute = { ...shared, put: () => Promise.resolve(false) };
  assert.equal(await training(mute, { job: '0007' }).goOn(100), undefined);
});

test('the access point is asked ever more rarely', async () => {
  const { shared, asked } = runNotes();
  await training(shared, { job: '0007' }).goOn(7200);
  assert.ok(asked() < 45, String(asked()));
});

test('a training of one epoch ends its first epoch, and fractions of epochs are understood', async () => {
  const { shared } = runNotes();
  const one = training(shared, { job: '0001' });
  one.slot.onProgress({ epoch: 1 });
  await one.goOn(5);
  one.slot.finish();
  assert.deepEqual(one.reported, [{ kind: 'first-epoch', seconds: 5 }]);
  const parts = training(shared, { job: '0002' });
  for (const epoch of [0.2, 0.5, Number.NaN, 0.9]) parts.slot.onProgress({ epoch });
  await parts.goOn(2);
  parts.slot.onProgress({ epoch: 1.1 });
  assert.deepEqual(parts.reported, [{ kind: 'first-epoch', seconds: 2 }]);
  const none = training(shared, { job: '0003' });
  none.slot.finish();
  assert.deepEqual(none.reported, []);
});
