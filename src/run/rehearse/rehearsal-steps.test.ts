import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { AgentBody, AgentEntry, AgentState } from '@updraft/account/journal';
import { type FoldedAttempt, completeJob } from '@updraft/account/testing';
import {
  hasTrainingToLose,
  rehearsalSteps,
  type RehearsalRecord,
  type RehearsalStep,
} from './rehearse-run.ts';

const said = (attempt: number, ...bodies: AgentBody[]): [number, AgentEntry[]] => [
  attempt,
  bodies.map((body, seq) => ({ v: 1, t: '2026-01-01T00:00:00.000Z', seq, job: '0000', attempt, ...body })),
];
const attempts = (...outcomes: FoldedAttempt['outcome'][]): FoldedAttempt[] =>
  outcomes.map((outcome, index) => ({
    job: '0000',
    attempt: index + 1,
    why: '',
    phase: 'cleaning',
    ...(outcome === undefined ? {} : { outcome }),
  }));
const epoch = (number: number): AgentBody => ({ kind: 'progress', epoch: number });
const cleaned: AgentBody = { kind: 'cleaned', bytes: 1 };
const saved: AgentBody = {
  kind: 'checkpoint-saved',
  files: 1,
  bytes: 9,
  sha256: '',
  epoch: 2,

  seconds: 0,
};

/** One eviction at epoch 3 of attempt 1, then what attempt 2 reported. */
const evidence = (second: AgentBody[], over: Partial<RehearsalRecord> = {}): RehearsalRecord => ({
  job: completeJob(
    {
      id: '0000',
      status: 'ended',
      outcome: 'success',
      stopRequested: false,
      attempts: attempts('evicted', 'success'),
    },
    {},
  ),
  evictions: [{ during: 'training', attempt: 1, at: 0, backAt: 7000, reached: { bytes: 0, epoch: 3 } }],
  journals: new Map([said(1, epoch(1), epoch(3), saved, cleaned), said(2, ...second, cleaned)]),
  hasData: false,
  checkpoint: 'ckpt',
  left: [],
  showSize: String,
  ...over,
});
const find = (steps: RehearsalStep[], name: string): RehearsalStep | undefined =>
  steps.find((step) => step.name === name);

test('a training that resumes is shown, with the time it lost', () => {
  const step = find(rehearsalSteps(evidence([epoch(3)])), 'training resumed');
  assert.deepEqual([step?.result, step?.lostMillis], ['shown', 7000]);
  assert.match(step?.said ?? '', /resumed at epoch 3/);
});

test('a training that starts over fails the step, with the fix to load its checkpoint', () => {
  const accuracy: AgentBody = { kind: 'progress', accuracy: 0.1 };
  const step = find(rehearsalSteps(evidence([accuracy, epoch(1), epoch(2)])), 'training resumed');
  assert.equal(step?.result, 'failed');
  assert.match(`${step.said} ${step.fix ?? ''}`, /started at epoch 1 again.*load the checkpoint in ckpt/);
});

test('what did not happen or could not be seen is not shown', () => {
  const silent = rehearsalSteps(evidence([]));
  assert.equal(find(silent, 'training resumed')?.result, 'not shown');
  const quick = rehearsalSteps(evidence([epoch(1)], { evictions: [], hasData: true }));
  assert.equal(find(quick, 'evicted during the transfer')?.result, 'not shown');
  assert.equal(find(quick, 'evicted during the training')?.result, 'not shown');
  assert.equal(find(quick, 'training resumed'), undefined);
});

test('a training that showed nothing is not called too quick, and the fix says what to print', () => {
  const journals = new Map([said(1, cleaned)]);
  const step = find(rehearsalSteps(evidence([], { evictions: [], journals })), 'evicted during the training');
  assert.equal(step?.result, 'not shown');
  assert.match(`${step.said} ${step.fix ?? ''}`, /reported no progress and saved nothing.*epoch 3\/10/);
});

test('a training is evicted after it has shown progress, and never by the clock alone', () => {
  const training = (millis: number, over: Partial<AgentState>) => ({
    phase: 'training' as const,
    ending: 'running' as const,
    agent: { millis: { training: millis }, ...over } as AgentState,
  });
  const hour = 3_600_000;
  assert.equal(hasTrainingToLose(training(hour, {})), false, 'it may still be importing');
  const started = { training: { command: 'python3 train.py', epochs: 9 } };
  assert.equal(hasTrainingToLose(training(hour, started)), false, 'a number of epochs is no progress');
  const at = (place: object) => ({ training: { command: 'python3 train.py', ...place } });
  assert.equal(hasTrainingToLose(training(hour, at({ epoch: 1 }))), false);
  assert.equal(hasTrainingToLose(training(1000, at({ epoch: 2 }))), true);
  assert.equal(hasTrainingToLose(training(11_000, at({ step: 5 }))), true);
  assert.equal(hasTrainingToLose(training(11_000, at({ loss: 0.5 }))), true);
  const checkpoint = { savedAt: '', files: 1, bytes: 9 };
  assert.equal(hasTrainingToLose(training(11_000, { checkpoint })), true);
});

test('no checkpoint in the job file, nothing saved, and a scratch folder left are failures with a fix', () => {
  const none = find(rehearsalSteps(evidence([epoch(1)], { checkpoint: undefined })), 'checkpoint kept');
  assert.match(none?.fix ?? '', /checkpoint = "…" in \[train\]/);
  const journals = new Map([said(1, epoch(1), epoch(3), cleaned), said(2, epoch(1), cleaned)]);
  assert.equal(find(rehearsalSteps(evidence([], { journals })), 'checkpoint kept')?.result, 'failed');
  const left = find(rehearsalSteps(evidence([], { left: ['/scratch/x'] })), 'scratch cleaned up');
  assert.deepEqual([left?.result, left?.said], ['failed', '/scratch/x is still there']);
});

test('data that is fetched from its start is not called resumed', () => {
  const transfer = {
    during: 'transfer',
    attempt: 1,
    at: 0,
    backAt: 1,
    reached: { bytes: 50, total: 100 },
  } as const;
  const again = (first: number): AgentBody[] => [
    { kind: 'fetch-progress', object: 'o', bytes: first, rate: 1, server: 's' },
    { kind: 'fetched', object: 'o', bytes: 100, seconds: 1, verified: 'size', servers: [] },
  ];
  const reported = (first: number): string =>
    find(
      rehearsalSteps(evidence(again(first), { evictions: [transfer], hasData: true })),
      'data fetched again',
    )?.said ?? '';
  assert.match(reported(1), /fetched again, 100/);
  assert.match(reported(60), /resumed at 60/);
});
