import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { RunState } from '../journal/state.ts';
import { countInterruptions, expectedLoss, meanLife } from './interruptions.ts';

const attempt = (ending: string, minutes: number) => ({
  ending,
  startedAt: '2026-01-01T00:00:00.000Z',
  endedAt: new Date(Date.UTC(2026, 0, 1, 0, minutes)).toISOString(),
});
const state = (...attempts: object[]): Pick<RunState, 'jobs'> =>
  ({ jobs: [{ attempts }] }) as unknown as Pick<RunState, 'jobs'>;

test('evictions and lost machines are interruptions; the time of every attempt counts', () => {
  const states = [
    state(attempt('evicted', 10), attempt('failed', 5), attempt('success', 45)),
    state(attempt('lost', 60), { ending: 'running', startedAt: '2026-01-01T00:00:00.000Z' }),
  ];
  const counted = countInterruptions(states);
  assert.deepEqual(counted, { attempts: 4, interrupted: 2, seconds: 7200 });
  assert.equal(meanLife(counted), 3600);
  assert.equal(meanLife(countInterruptions([state(attempt('success', 5))])), undefined);
});

test('the more often attempts are interrupted and the longer a checkpoint takes, the more is lost', () => {
  assert.ok(Math.abs(expectedLoss(7200, 1) - Math.sqrt(2 / 7200)) < 1e-12);
  assert.equal(expectedLoss(1, 60), 1);
});
