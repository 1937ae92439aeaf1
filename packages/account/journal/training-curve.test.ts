/** A job's metrics on one curve over all attempts, however the training counts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Progress, ProgressEntry } from './entry.ts';
import { foldAgentEntries } from './fold-agent.ts';
import { percentagesOf } from './metrics.ts';
import type { FoldedAttempt } from './state.ts';
import { type Curve, CurveStitcher, jobMetrics, type TrainingPoint } from './training-curve.ts';

const entries = (...reported: [attempt: number, progress: Progress][]): ProgressEntry[] =>
  reported.map(([attempt, progress], seq) => ({
    ...{ v: 1, t: new Date(seq * 1000).toISOString(), seq, job: '0000', attempt, kind: 'progress' },
    ...progress,
  }));

function taken(list: ProgressEntry[]): { point: TrainingPoint; isFirst: boolean }[] {
  const found: { point: TrainingPoint; isFirst: boolean }[] = [];
  let isFirst = false;
  const curve: Curve = {
    add: (point) => {
      found.push({ point, isFirst });
      isFirst = false;
    },
    cutFrom: () => (isFirst = true),
    forget: () => undefined,
  };
  const stitcher = new CurveStitcher();
  for (const entry of list) stitcher.add(entry, curve);
  return found;
}

/** Step and loss of each point; `first` voids the earlier ones at its step or later. */
const steps = (list: ProgressEntry[]): unknown[] =>
  taken(list).map(({ point: { step, metrics }, isFirst }) =>
    isFirst ? [step, metrics['loss'], 'first'] : [step, metrics['loss']],
  );

test('steps count through all epochs, and a figure of an epoch is at its end', () => {
  const list = entries(
    [1, { epoch: 1, step: 5, steps: 10, loss: 3 }],
    [1, { epoch: 1, metrics: { val_loss: 4 } }],
    [1, { epoch: 2, step: 5, steps: 10, loss: 2 }],
  );
  const points = taken(list).map(({ point }) => point);
  assert.deepEqual(points, [
    { step: 5, epochs: 0.5, at: 0, metrics: { loss: 3 } },
    { step: 10, epochs: 1, at: 1000, metrics: { val_loss: 4 } },
    { step: 15, epochs: 1.5, at: 2000, metrics: { loss: 2 } },
  ]);
});

test('the first point of an attempt voids what an earlier one did past its checkpoint', () => {
  const list = entries(
    [1, { epoch: 1, loss: 4 }],
    [1, { epoch: 2, loss: 3 }],
    [1, { epoch: 3, loss: 9 }],
    [2, { epoch: 3, loss: 2 }],
    [2, { epoch: 4, loss: 1 }],
  );
  assert.deepEqual(steps(list), [
    [1, 4, 'first'],
    [2, 3],
    [3, 9],
    [3, 2, 'first'],
    [4, 1],
  ]);
  assert.deepEqual(steps(entries([1, { loss: 4 }], [1, { loss: 3 }], [2, { loss: 2 }])), [
    [1, 4, 'first'],
    [2, 3],
    [3, 2, 'first'],
  ]);
});

test('an attempt that first reports only its epoch still voids what was past its checkpoint', () => {
  const list = entries(
    [1, { epoch: 1, loss: 4 }],
    [1, { epoch: 2, loss: 9 }],
    [2, { epoch: 2 }],
    [2, { epoch: 2, loss: 3 }],
  );
  assert.deepEqual(steps(list), [
    [1, 4, 'first'],
    [2, 9],
    [2, 3, 'first'],
  ]);
});

test('parts of an epoch are places of their own: an attempt that resumes within one keeps what was before', () => {
  const list = entries(
    [1, { epoch: 1.6, loss: 4 }],
    [1, { epoch: 2, loss: 3 }],
    [1, { epoch: 2.2, loss: 9 }],
    [2, { epoch: 2.1, loss: 2 }],
  );
  assert.deepEqual(steps(list), [
    [1.6, 4, 'first'],
    [2, 3],
    [2.2, 9],
    [2.1, 2, 'first'],
  ]);
});

test('a curve is counted in epochs, else in steps, else in reports', () => {
  const unitOf = (progress: Progress): string => {
    const stitcher = new CurveStitcher();
    for (const entry of entries([1, progress]))
      stitcher.add(entry, { add: () => undefined, cutFrom: () => undefined, forget: () => undefined });
    return stitcher.unit;
  };
  assert.equal(unitOf({ epoch: 1, step: 2, loss: 1 }), 'epochs');
  assert.equal(unitOf({ step: 2, loss: 1 }), 'steps');
  assert.equal(unitOf({ loss: 1 }), 'reports');
});

test('epochs that are counted from 0 have their own steps, also in an attempt that resumes', () => {
  const list = entries(
    [1, { epoch: 0, step: 5, steps: 10, loss: 4 }],
    [1, { epoch: 0, step: 10, loss: 3 }],
    [1, { epoch: 1, step: 5, loss: 9 }],
    [2, { epoch: 1, step: 1, steps: 10, loss: 2 }],
  );
  assert.deepEqual(steps(list), [
    [5, 4, 'first'],
    [10, 3],
    [15, 9],
    [11, 2, 'first'],
  ]);
});

test('where epochs are counted in parts, the bar of the whole training does not matter', () => {
  const list = entries(
    [1, { step: 10, steps: 300, epoch: 0.1, loss: 4 }],
    [1, { step: 20, steps: 300 }],
    [1, { epoch: 0.2, loss: 3 }],
    [1, { step: 100, steps: 300, epoch: 1, loss: 2 }],
  );
  const points = taken(list).map(({ point }) => [point.step, point.epochs]);
  assert.deepEqual(points, [
    [0.1, 0.1],
    [0.2, 0.2],
    [1, 1],
  ]);
});

test('a file that counts epochs from 1 is not mistaken for what was printed from 0', () => {
  const [printed, recorded] = entries(
    [1, { epoch: 0, step: 1, steps: 10, loss: 4 }],
    [1, { epoch: 1, step: 2, steps: 10, loss: 3 }],
  );
  const found: number[] = [];
  const stitcher = new CurveStitcher();
  const curve: Curve = {
    add: ({ step }) => found.push(step),
    cutFrom: () => undefined,
    forget: () => undefined,
  };
  const replaced = { ...printed!, kind: 'progress-replaced' as const, metrics: [], recounted: true };
  for (const entry of [printed!, replaced, recorded!]) stitcher.add(entry, curve);
  assert.deepEqual(found, [1, 2]);
});

/** What is left of the curve of a job. */
function stitched(list: ProgressEntry[]): TrainingPoint[] {
  let points: TrainingPoint[] = [];
  const curve: Curve = {
    add: (point) => points.push(point),
    cutFrom: (step) => (points = points.filter((point) => point.step < step)),
    forget: () => undefined,
  };
  const stitcher = new CurveStitcher();
  for (const entry of list) stitcher.add(entry, curve);
  return points;
}

function metricsOfJob(list: ProgressEntry[], outcome?: 'success'): ReturnType<typeof jobMetrics> {
  const attempts = [...Map.groupBy(list, ({ attempt }) => attempt)].map(([attempt, own]): FoldedAttempt => {
    const last = own.at(-1)!;
    const end = {
      ...last,
      kind: 'agent-ended',
      outcome: outcome ?? 'evicted',
      exit: 0,
      trained: true,
    } as const;
    const agent = foldAgentEntries(undefined, [...own, end]);
    return { job: '0000', attempt, why: '', phase: 'training', ...(agent && { agent }) };
  });
  return jobMetrics({ attempts });
}

test('the best of a job is that of its curve: an attempt from scratch voids what an earlier one reached', () => {
  const epochs = (attempt: number, values: number[], from = 1) =>
    values.map((accuracy, at): [number, Progress] => [
      attempt,
      { epoch: from + at, metrics: { val_accuracy: accuracy } },
    ]);
  const lost = epochs(1, [0.991, 0.992, 0.998]);
  const scratch = entries(...lost, [1, { metrics: { test_f1: 1 } }], ...epochs(2, [0.1, 0.5, 0.4]));
  assert.deepEqual(metricsOfJob(scratch, 'success'), {
    metrics: { val_accuracy: 0.4 },
    best: { val_accuracy: 0.5 },
  });
  const resumed = entries(...lost, ...epochs(2, [0.7, 0.6], 3));
  assert.deepEqual(metricsOfJob(resumed).best, { val_accuracy: 0.992 });
});

test('the best of a job is that of its curve, wherever its attempts begin and however they count', () => {
  let seed = 1;
  const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  for (let nth = 0; nth < 300; nth++) {
    const [first, steps, parts] = [random(2), random(2) * 10, random(3) === 0];
    const reported: [number, Progress][] = [];
    for (let attempt = 1, from = 0; attempt <= 4; attempt++, from = random(from + 3))
      for (let epoch = from; epoch < from + 1 + random(9); epoch++) {
        const at = parts ? epoch + 0.5 : epoch + first;
        reported.push([attempt, { epoch: at, ...(steps > 0 && { steps, step: 1 + random(steps) }) }]);
        reported.push([attempt, { loss: random(1000) }]);
        reported.push([attempt, { epoch: at, done: at, metrics: { f1: random(1000) } }]);
      }
    const list = entries(...reported);
    const points = stitched(list);
    const of = (name: string) => points.flatMap(({ metrics }) => metrics[name] ?? []);
    const { best } = metricsOfJob(list);
    assert.deepEqual([best['f1'], best['loss']], [Math.max(...of('f1')), Math.min(...of('loss'))], `${nth}`);
  }
});

test('an accuracy without anything above 1 is a percentage if other jobs of the run show it', () => {
  const [report] = entries([1, { epoch: 1, metrics: { val_accuracy: 1, f1: 1 }, accuracy: 0.5 }]);
  const scales = { val_accuracy: 'bare', accuracy: 'bare' } as const;
  const scaled = { ...report!, kind: 'progress-scaled', scales } as const;
  const agent = foldAgentEntries(undefined, [scaled, report!])!;
  const job = (attempt: number): FoldedAttempt => ({ job: '0', attempt, why: '', phase: 'training', agent });
  const attempts = [job(1)];
  const diverged = { attempts };
  const other = { ...agent, training: { command: '', scales: { val_accuracy: 'percent' } } } as const;
  const percentages = percentagesOf([diverged, { attempts: [{ ...job(1), agent: other }] }]);
  assert.deepEqual(percentages, ['val_accuracy']);
  const expected = { val_accuracy: 0.01, f1: 1, accuracy: 0.5 };
  assert.deepEqual(jobMetrics({ ...diverged, percentages }), { metrics: expected, best: expected });
  assert.equal(jobMetrics(diverged).best['val_accuracy'], 1);
  const found: unknown[] = [];
  const stitcher = new CurveStitcher(percentages);
  const curve = {
    add: ({ metrics }: TrainingPoint) => found.push(metrics),
    cutFrom: () => 0,
    forget: () => 0,
  };
  for (const entry of agent.training!.turns!.entries) stitcher.add(entry, curve);
  assert.deepEqual(found, [expected]);
});
