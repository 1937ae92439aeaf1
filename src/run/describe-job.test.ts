/** What a line about a job says: state, figures, time left, notes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AgentBody, type AttemptState, type Entry, fold, type JobState } from '@updraft/account/journal';
import { completeJob } from '@updraft/account/testing';
import { describeState, jobFigures, jobNotes, remaining, shareDone } from './describe-job.ts';

/** An attempt after these agent entries, ten seconds apart. */
function after(...bodies: AgentBody[]): AttemptState {
  const entries = bodies.map<Entry>((body, seq) => ({
    v: 1,
    t: new Date(Date.UTC(2026, 0, 1) + seq * 10_000).toISOString(),
    seq,
    job: '0',
    attempt: 1,
    ...body,
  }));
  const attempt = fold(entries).jobs[0]?.attempts[0];
  assert.ok(attempt !== undefined);
  return attempt;
}

const training: AgentBody = { kind: 'phase', phase: 'training' };
const fetching: AgentBody = { kind: 'phase', phase: 'fetching' };

test('training progress combines epochs and the steps of the current one', () => {
  const share = (progress: Omit<Extract<AgentBody, { kind: 'progress' }>, 'kind'>) =>
    shareDone(after(training, { kind: 'progress', ...progress }));
  assert.equal(share({ epoch: 1, epochs: 4 }), 0);
  assert.equal(share({ epoch: 3, epochs: 4 }), 0.5);
  assert.equal(share({ epoch: 3, epochs: 4, step: 50, steps: 100 }), 0.625);
  assert.equal(share({ epoch: 9, epochs: 4 }), 1);
  assert.equal(share({ step: 1, steps: 4 }), 0.25);
  assert.equal(share({ epoch: 3 }), undefined);
  assert.equal(share({ epoch: 3, epochs: 0 }), undefined);
  assert.equal(share({ loss: 1 }), undefined);
});

test('the time left follows from the pace so far', () => {
  assert.equal(remaining(after(training, { kind: 'progress', epoch: 2, epochs: 3 })), 20_000);
  const half: AgentBody = {
    kind: 'fetch-progress',
    object: 'o',
    bytes: 40,
    total: 100,
    rate: 20,
    server: 's',
  };
  assert.equal(remaining(after(fetching, half)), 3000);
  assert.equal(remaining(after(fetching, { ...half, rate: 0 })), undefined);
});

test('work of an earlier attempt does not count for the pace of this one', () => {
  const reported: AgentBody = { kind: 'progress', step: 75, steps: 100 };
  const restored: AgentBody = { kind: 'checkpoint-restored', savedBy: 0, step: 50 };
  assert.equal(remaining(after(restored, training, reported)), 10_000);
  const ended: AgentBody = { kind: 'progress', epoch: 4, epochs: 5, done: 4 };
  assert.equal(remaining(after({ ...restored, epoch: 3, step: 7 }, training, ended)), 10_000);
});

test('a training whose first epoch is 0 has done one more, also after a resume', () => {
  const command: AgentBody = { kind: 'training-started', pid: 1, command: 'train' };
  const epoch = (number: number, more = {}): AgentBody => ({
    kind: 'progress',
    epoch: number,
    epochs: 10,
    done: number,
    ...more,
  });
  assert.equal(shareDone(after(training, command, epoch(0, { firstEpoch: 0 }), epoch(8))), 0.9);
  const restored: AgentBody = { kind: 'checkpoint-restored', savedBy: 0, epoch: 3 };
  const first: AgentBody = { kind: 'progress', firstEpoch: 0 };
  const resumed = after(restored, first, training, command, epoch(4));
  assert.deepEqual([shareDone(resumed), remaining(resumed)], [0.5, 100_000]);
});

test('a total is shown only when the size of every object is known', () => {
  const known: AgentBody = { kind: 'fetch-progress', object: 'a', bytes: 5, total: 10, rate: 1, server: 's' };
  const unknown: AgentBody = { kind: 'fetch-progress', object: 'b', bytes: 5, rate: 1, server: 's' };
  assert.equal(shareDone(after(fetching, known)), 0.5);
  assert.equal(shareDone(after(fetching, known, unknown)), undefined);
});

const running = (attempt: AttemptState): JobState => ({
  ...completeJob({ id: '0', status: 'running', stopRequested: false, attempts: [] }, {}),
  attempts: [attempt],
});

test('a training that waits for data says so, if it is worth a place', () => {
  const figures = (waited: number): string[] => {
    const attempt = after(training, { kind: 'progress', epoch: 2, waited });
    return jobFigures(running(attempt));
  };
  assert.deepEqual(figures(9), ['epoch 2']);
  assert.deepEqual(figures(75), ['epoch 2', 'waited 1m15s for data']);
});

test('a GPU that is idle for long while it trains is said', () => {
  const idle = (minutes: number): string[] => {
    const beats = Array.from({ length: minutes * 6 + 1 }, () => beat);
    return jobNotes(running({ ...after(training, ...beats), heardAt: 1000 }), 4000);
  };
  const beat: AgentBody = { kind: 'heartbeat', memoryBytes: 1, quietSeconds: 0, gpuPercent: 2 };
  assert.deepEqual([idle(9), idle(25)], [[], ['GPU idle for 25m']]);
});

test('a stalled fetch shows for how long, whichever servers were given up meanwhile', () => {
  const fault = { kind: 'transfer-stalled', message: 'no bytes for 8 s' } as const;
  const setback: AgentBody = { kind: 'fetch-setback', object: 'o', server: 's', fault };
  const notes = (...bodies: AgentBody[]): string[] => {
    const attempt = { ...after(...bodies), heardAt: 1000 };
    return jobNotes(running(attempt), 4000);
  };
  assert.deepEqual(notes(fetching), []);
  const half: AgentBody = { kind: 'fetch-progress', object: 'o', bytes: 5, total: 10, rate: 1, server: 's' };
  assert.deepEqual(notes(fetching, half), ['ETA 5s', 's']);
  assert.ok(!notes(fetching, half, setback, setback).join(' ').includes('ETA'), 'no time left without bytes');
  assert.deepEqual(notes(fetching, setback, setback), [
    'no bytes for 23s',
    '2 setbacks, last transfer-stalled at s',
  ]);
  const some: AgentBody = { kind: 'fetch-progress', object: 'o', bytes: 5, rate: 1, server: 's' };
  assert.deepEqual(notes(fetching, setback, some), ['s', '1 setback, last transfer-stalled at s']);
});

test('a job whose machine is unreachable is disconnected, and its note says when the pool gives up', () => {
  const at = (second: number): string => `2026-11-15T03:00:0${second}.000Z`;
  const of = { v: 1 as const, job: '0', attempt: 1 };
  const entries: Entry[] = [
    { ...of, seq: 0, t: at(0), kind: 'attempt-started', why: 'first attempt' },
    { ...of, seq: 0, t: at(1), ...training },
    { ...of, seq: 1, t: at(2), kind: 'attempt-disconnected', until: '2026-11-15T03:20:02.000Z' },
  ];
  const [lost] = fold(entries).jobs;
  assert.ok(lost);
  assert.equal(describeState(lost), 'disconnected');
  assert.deepEqual(jobNotes(lost, 0), [
    'disconnected since 2026-11-15 03:00:02 UTC; the pool gives up at 2026-11-15 03:20:02 UTC',
  ]);
  const [found] = fold([...entries, { ...of, seq: 2, t: at(3), kind: 'attempt-reconnected' }]).jobs;
  assert.equal(found && describeState(found), 'training');
});

test('the note of a failed training is where its exception was raised, not that it failed', () => {
  const about = 'train.py, line 7: ValueError: no classes';
  const message = `the training failed with exit code 1 in ${about}`;
  const attempt = after(training, { kind: 'fault', fault: { kind: 'training-failed', message, about } });
  const job = { id: '0', status: 'ended', outcome: 'failed', attempts: [{ ...attempt, outcome: 'failed' }] };
  assert.deepEqual(jobNotes({ ...job, stopRequested: false } as unknown as JobState, 0), [about]);
});

test('an attempt whose end nobody recorded is not called running once its job has ended', () => {
  const ended = after(training, { kind: 'agent-ended', outcome: 'success', exit: 0 });
  const job = { ...running(ended), status: 'ended' as const, outcome: 'removed' as const };
  assert.deepEqual(jobNotes(job, 0), ['']);
});
