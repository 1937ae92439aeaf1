import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Reports } from './reports.ts';

test('what is said of one moment is one report, in however many lines', () => {
  const reports = new Reports();
  for (const line of [
    { epoch: 1 },
    { step: 5, loss: 2 },
    { step: 5, accuracy: 0.5 },
    { metrics: { lr: 0.1 } },
  ])
    reports.add(line);
  reports.add({ step: 6, loss: 1 });
  reports.add({ loss: 1 });
  assert.deepEqual(reports.take(), [
    { epoch: 1, step: 5, loss: 2, accuracy: 0.5, metrics: { lr: 0.1 } },
    { step: 6, loss: 1 },
    { loss: 1 },
  ]);
  assert.deepEqual(reports.take(), []);
});

test('a metric that is reported once an epoch is kept beside one of every step, in its place', () => {
  const reports = new Reports();
  const found: unknown[] = [];
  for (let epoch = 1; epoch <= 1000; epoch++) {
    for (let step = 1; step <= 100; step++) reports.add({ epoch, step, steps: 100, loss: 1 });
    reports.add({ epoch, done: epoch, metrics: { val_loss: epoch % 7 } });
    reports.add({ epoch: epoch + 1, step: 1, loss: 1 });
    for (const { metrics, epoch: at, step } of reports.take())
      if (metrics !== undefined) found.push([at, step, metrics]);
  }
  assert.deepEqual(
    found,
    Array.from({ length: 1000 }, (_, index) => [index + 1, 100, { val_loss: (index + 1) % 7 }]),
  );
});

test('a million reports become some thousands, the lowest and the highest of each metric among them', () => {
  const reports = new Reports();
  const taken = [];
  for (let step = 1; step <= 1_000_000; step++) {
    const dip = step === 777_777 ? -1 : 2 + ((step * 31) % 17);
    const peak = step === 888_887 ? 99 : step % 50;
    reports.add({ step, loss: dip, metrics: { score: peak } });
    if (step % 1000 === 0) taken.push(...reports.take());
  }
  assert.ok(taken.length < 4000, `${taken.length}`);
  assert.deepEqual(
    taken.filter(({ loss }) => loss === -1).map(({ step }) => step),
    [777_777],
  );
  assert.deepEqual(
    taken.filter(({ metrics }) => metrics?.['score'] === 99).map(({ step }) => step),
    [888_887],
  );
  assert.equal(taken.at(-1)?.step, 1_000_000);
  const steps = taken.map(({ step }) => step ?? 0);
  assert.deepEqual(
    steps,
    steps.toSorted((a, b) => a - b),
  );
});

test('the last of each metric is kept in its place', () => {
  const reports = new Reports(0);
  reports.add({ epoch: 1, step: 7, steps: 9, metrics: { lr: 0.1 } });
  reports.add({ step: 8, loss: 2 });
  reports.add({ step: 9, loss: 1, samples: 90 });
  assert.deepEqual(reports.take(), [
    { epoch: 1, step: 7, metrics: { lr: 0.1 } },
    { epoch: 1, step: 8, loss: 2 },
    { epoch: 1, step: 9, loss: 1, steps: 9, samples: 90 },
  ]);
});

test('what ever improves is not recorded more than once a second for that', () => {
  const reports = new Reports(0);
  for (let step = 1; step <= 1000; step++) reports.add({ step, loss: 1 / step, accuracy: step });
  assert.deepEqual(reports.take(), [
    { step: 1, loss: 1, accuracy: 1 },
    { step: 1000, loss: 0.001, accuracy: 1000 },
  ]);
});
