import assert from 'node:assert/strict';
import { test } from 'node:test';
import { troubleOf } from '../../bench/osg/trouble-rules.ts';
import { burstsOf, osgScenario, type JobScenario, type Slot } from '../../bench/osg/scenario.ts';
import { systemClock } from '@updraft/base';
import { Trouble } from '@updraft/mini/testing';

const context = osgScenario(1);
const { jobs } = context;
const count = (is: (job: JobScenario) => boolean): number => jobs.filter(is).length;
const slots: Slot[] = jobs.flatMap((job) => job.slots);

test('the replayed scenario has what the table of the published jobs has', () => {
  const deeds = jobs.flatMap((job) => job.actions);
  assert.deepEqual(
    {
      jobs: jobs.length,
      stalls: deeds.filter(({ kind }) => kind === 'stall').length,
      brokenAndReleased: jobs.flatMap((job) => job.releasedAfter).length,
      missing: count(({ missingSeconds }) => missingSeconds > 0),
      overTheLimit: slots.filter(({ computeSeconds }) => computeSeconds > 72_000).length,
      offline: slots.filter(({ offline }) => offline === true).length,
      corrupted: count(({ corrupted }) => corrupted),
      evictions: slots.filter(({ evictedAfter }) => evictedAfter !== undefined).length,
    },
    {
      jobs: 100,
      stalls: 232,
      brokenAndReleased: 7,
      missing: 16,
      overTheLimit: 2,
      offline: 2,
      corrupted: 1,
      evictions: 5,
    },
  );
});

test('a seed gives one scenario, another seed another', () => {
  assert.deepEqual(osgScenario(1), osgScenario(1));
  assert.notDeepEqual(osgScenario(1), osgScenario(2));
});

test('the jobs whose object was missing came in one burst, except one', () => {
  assert.deepEqual(
    burstsOf(context).map(({ length }) => length),
    [1, 15],
  );
});

test('no slot is evicted after its training would have ended', () => {
  for (const { computeSeconds, evictedAfter = 0 } of slots) assert.ok(evictedAfter < computeSeconds);
});

test('the first cache treats the requests of every job as the scenario says, in order', async () => {
  const servers = ['director', 'origin', 'cache-1', 'cache-2', 'cache-3'];
  const trouble = new Trouble(
    systemClock,
    () => servers,
    () => Promise.resolve(),
  );
  for (const rule of troubleOf(context, { bytes: 8e6, scale: 180 })) await trouble.add(rule);
  for (const [number, { actions, corrupted }] of jobs.entries()) {
    const asked = { server: 'cache-1', object: '/ospool/train.tar', job: `ap#12.${number}#1763` };
    const answer = (): string => {
      const damaged = trouble.pick('corrupt', asked) !== undefined;
      if (trouble.pick('stall', asked) !== undefined) return 'stall';
      if (trouble.pick('reset', asked) !== undefined) return 'reset';
      return damaged ? 'damaged' : 'serve';
    };
    const expected = [...actions.map(({ kind }) => kind), corrupted ? 'damaged' : 'serve', 'serve'];
    assert.deepEqual(
      expected.map(() => answer()),
      expected,
      `job ${number}`,
    );
  }
});
