import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FaultRecord, JobState } from '@updraft/account/journal';
import { type FoldedAttempt, completeJob, type FoldedJob } from '@updraft/account/testing';
import { judgeTask } from './tasks.ts';

const attempt = (outcome?: FoldedAttempt['outcome']): FoldedAttempt => ({
  job: '0000',
  attempt: 1,
  why: '',
  phase: 'training',
  ...(outcome === undefined ? {} : { outcome }),
});
const job = (more: Partial<FoldedJob> = {}): JobState =>
  completeJob({ id: '0000', status: 'running', stopRequested: false, attempts: [attempt()], ...more }, {});
const waiting = job({ status: 'waiting', attempts: [] });
const row = (state: string, reason = 'None') => ({ state, reason });
const reported = (...args: Parameters<typeof judgeTask>): string[] =>
  judgeTask(...args).map((body) => {
    const { kind, outcome, fault } = body as { kind: string; outcome?: string; fault?: FaultRecord };
    return [kind, outcome, fault?.kind].filter((word) => word !== undefined).join(' ');
  });

test('a job that waits or runs as its journal says needs no entry', () => {
  assert.deepEqual(reported(waiting, row('PENDING', 'Priority'), ''), []);
  for (const state of ['RUNNING', 'COMPLETING', 'SUSPENDED', 'CONFIGURING'])
    assert.deepEqual(reported(job(), row(state), ''), [], state);
});

test('an attempt whose job is queued again was evicted', () => {
  assert.deepEqual(reported(job(), row('PENDING', 'BeginTime'), ''), ['attempt-ended evicted evicted']);
});

test("an end that the script could not record is read from Slurm's state", () => {
  const ends: Record<string, string[]> = {
    CANCELLED: ['attempt-ended stopped interrupted', 'job-ended stopped'],
    TIMEOUT: ['attempt-ended failed time-limit', 'job-ended failed'],
    OUT_OF_MEMORY: ['attempt-ended failed training-failed', 'job-ended failed'],
    NODE_FAIL: ['attempt-ended lost evicted', 'job-ended lost'],
    PREEMPTED: ['attempt-ended lost evicted', 'job-ended lost'],
  };
  for (const [state, expected] of Object.entries(ends))
    assert.deepEqual(reported(job(), row(state), ''), expected);
  assert.deepEqual(reported(job(), undefined, ''), ['attempt-ended lost evicted', 'job-ended lost']);
  // The script recorded its end, and Slurm says that no other attempt follows.
  const evicted = job({ status: 'waiting', attempts: [attempt('evicted')] });
  assert.deepEqual(reported(evicted, row('CANCELLED'), ''), ['job-ended stopped']);
});

test("a job that Slurm killed is explained by Slurm's message in its log", () => {
  const [end] = judgeTask(
    job(),
    row('FAILED', 'RaisedSignal:9'),
    'error: StepId=16.batch exceeded memory limit',
  );
  assert.ok(end?.kind === 'attempt-ended');
  assert.match(end.fault?.message ?? '', /more memory than requested/);
  const [other] = judgeTask(job(), row('FAILED'), 'cannot chdir to /scratch/run');
  assert.ok(other?.kind === 'attempt-ended');
  assert.match(other.fault?.message ?? '', /as FAILED, its last output was: cannot chdir/);
});

test('a job whose node could not write an entry still had an attempt', () => {
  assert.deepEqual(reported(waiting, row('FAILED'), 'cannot chdir'), [
    'attempt-started',
    'attempt-ended lost evicted',
    'job-ended lost',
  ]);
  assert.deepEqual(reported(waiting, row('CANCELLED'), ''), ['job-ended stopped']);
});

test('a job that was asked to stop is stopped, whatever its last state', () => {
  const stopping = job({ stopRequested: true });
  assert.deepEqual(reported(stopping, undefined, ''), [
    'attempt-ended stopped interrupted',
    'job-ended stopped',
  ]);
});

test('a hold by hand waits for its user; any other ends the job until a retry', () => {
  assert.deepEqual(reported(waiting, row('PENDING', 'JobHeldUser'), ''), ['job-held interrupted']);
  assert.deepEqual(reported(waiting, row('PENDING', 'launch failed requeued held'), ''), [
    'job-held evicted',
    'job-ended failed',
  ]);
  const held = { ...waiting, held: { kind: 'interrupted' as const, message: 'held' } };
  assert.deepEqual(reported(held, row('PENDING', 'JobHeldUser'), ''), []);
  assert.deepEqual(reported(held, row('PENDING', 'Priority'), ''), ['job-released']);
  assert.deepEqual(reported(held, row('CANCELLED'), ''), ['job-released', 'job-ended stopped']);
});
