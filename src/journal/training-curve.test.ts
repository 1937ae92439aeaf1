import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Progress } from './entry.ts';
import { type ProgressEntry, stitchCurve } from './training-curve.ts';

const entries = (...reported: [attempt: number, progress: Progress][]): ProgressEntry[] =>
  reported.map(([attempt, progress], seq) => ({
    ...{ v: 1, t: new Date(seq * 1000).toISOString(), seq, job: '0000', attempt, kind: 'progress' },
    ...progress,
  }));
const steps = (list: ProgressEntry[]): [number, number | undefined][] =>
  stitchCurve(list).map(({ step, metrics }) => [step, metrics['loss']]);

test('steps count through all epochs, and a figure of an epoch is at its end', () => {
  const list = entries(
    [1, { epoch: 1, step: 5, steps: 10, loss: 3 }],
    [1, { epoch: 1, metrics: { val_loss: 4 } }],
    [1, { epoch: 2, step: 5, steps: 10, loss: 2 }],
  );
  assert.deepEqual(stitchCurve(list), [
    { step: 5, at: 0, metrics: { loss: 3 } },
    { step: 10, at: 1000, metrics: { val_loss: 4 } },
    { step: 15, at: 2000, metrics: { loss: 2 } },
  ]);
});

test('an attempt that resumes replaces what an earlier one did past its checkpoint', () => {
  const list = entries(
    [1, { epoch: 1, loss: 4 }],
    [1, { epoch: 2, loss: 3 }],
    [1, { epoch: 3, loss: 9 }],
    [2, { epoch: 3, loss: 2 }],
    [2, { epoch: 4, loss: 1 }],
  );
  assert.deepEqual(steps(list), [
    [1, 4],
    [2, 3],
    [3, 2],
    [4, 1],
  ]);
  assert.deepEqual(steps(entries([1, { loss: 4 }], [1, { loss: 3 }], [2, { loss: 2 }])), [
    [1, 4],
    [2, 3],
    [3, 2],
  ]);
});
