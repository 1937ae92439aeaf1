import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { allowedSeconds, slotMemoryBytes, startCount, vacateGraceMs } from './machine.ts';

test('start count, limits, memory and vacate time come from the job ad and the machine ad', async (t) => {
  const job =
    'NumShadowStarts = 3\nJobCurrentStartDate = 1000\nAllowedJobDuration = 500\nAllowedExecuteDuration = 400\n';
  const folder = await temporaryFolder(t, { job, machine: 'MachineMaxVacateTime = 10 * 60\nMemory = 768\n' });
  const env = {
    _CONDOR_JOB_AD: path.join(folder, 'job'),
    _CONDOR_MACHINE_AD: path.join(folder, 'machine'),
  };
  assert.equal(startCount(env), 3);
  assert.equal(allowedSeconds(env, 1_000_000), 400);
  assert.equal(allowedSeconds(env, 1_200_000), 300);
  assert.equal(vacateGraceMs(env), 240_000);
  assert.equal(slotMemoryBytes(env), 768 * 2 ** 20);
});

test('the job keeps its allowed time on a machine whose clock is hours off', async (t) => {
  const job = 'JobCurrentStartDate = 1000\nAllowedJobDuration = 500\n';
  const env = { _CONDOR_JOB_AD: path.join(await temporaryFolder(t, { job }), 'job') };
  assert.equal(allowedSeconds(env, 1_100_000), 400);
  assert.equal(allowedSeconds(env, 9_000_000), 500);
  assert.equal(allowedSeconds(env, 10_000), 500);
});

test('outside of HTCondor there are no such limits', () => {
  assert.deepEqual(
    [startCount({}), allowedSeconds({}, 0), vacateGraceMs({})],
    [undefined, undefined, undefined],
  );
});
