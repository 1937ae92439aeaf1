import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type AgentBody, type Curve, CurveStitcher, metricsOf } from '@updraft/account/journal';
import type { ProgressEntry } from '@updraft/account/testing';
import { ReportedProgress } from './reported-progress.ts';

/** The curves that a reader makes of it: steps and values of each metric. */
function curvesOf(bodies: readonly AgentBody[]): Record<string, [step: number, value: number][]> {
  const curves: Record<string, [number, number][]> = {};
  const curve: Curve = {
    add: ({ step, metrics }) => {
      for (const [name, value] of Object.entries(metrics)) (curves[name] ??= []).push([step, value]);
    },
    cutFrom: () => undefined,
    forget: (names, from) => {
      for (const name of names) curves[name] = (curves[name] ?? []).filter(([step]) => step < from);
    },
  };
  const stitcher = new CurveStitcher();
  for (const body of bodies) {
    const entry = { v: 1, t: '2026-01-01T00:00:00.000Z', seq: 0, job: '0000', attempt: 1, ...body };
    if (body.kind === 'progress' || body.kind === 'progress-replaced')
      stitcher.add(entry as ProgressEntry, curve);
  }
  return curves;
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index + 1);

test('of a training that prints and writes records, each metric comes from one of them, at its own steps', () => {
  const reported = new ReportedProgress();
  const journal: AgentBody[] = [];
  for (const step of upTo(40)) {
    const half = Math.ceil(step / 2);
    reported.addRecord(JSON.stringify({ epoch: 1, step, steps: 40, loss: step }));
    if (step % 2 === 0) {
      reported.addPrinted(`epoch 0 step ${half}/20 loss 1000`);
      reported.addPrinted(`val_loss=${half} loss -1`);
    }
    if (step % 8 === 0) journal.push(...reported.take());
  }
  reported.addPrinted('val_loss=99');
  journal.push(...reported.take());
  assert.deepEqual(curvesOf(journal), {
    loss: upTo(40).map((step) => [step, step]),
    val_loss: [...upTo(20).map((half) => [2 * half, half]), [40, 99]],
  });
  const last = journal.findLast((body) => body.kind === 'progress');
  assert.deepEqual([last?.epoch, last?.step], [1, 40], 'the training is where its records say');
});

test('what was printed of a metric is void once a record has it, whether it is in the journal or not', () => {
  const reported = new ReportedProgress();
  const journal: AgentBody[] = [];
  for (const step of upTo(9))
    reported.addPrinted(`Epoch: 1 [${step * 10}/100 (1%)] Loss: ${step} acc: 0.${step}`);
  journal.push(...reported.take());
  reported.addPrinted('Epoch: 1 [100/100 (1%)] Loss: 10 acc: 0.95');
  reported.addRecord('{"epoch": 1, "loss": 0.5}');
  for (const epoch of [2, 3]) {
    reported.addPrinted(`Epoch: ${epoch} [100/100 (1%)] Loss: 77 acc: 0.9${epoch}`);
    reported.addRecord(JSON.stringify({ epoch, loss: 0.5 / epoch }));
  }
  journal.push(...reported.take());
  const { loss, accuracy } = curvesOf(journal);
  assert.deepEqual(loss, [
    [100, 0.5],
    [200, 0.25],
    [300, 0.5 / 3],
  ]);
  assert.equal(accuracy?.length, 12);
  assert.deepEqual(
    journal.filter(({ kind }) => kind === 'progress-replaced'),
    [{ kind: 'progress-replaced', metrics: ['loss'] }],
  );
});

test('a metric that is only printed, without a place that records could share, is where the records are', () => {
  const reported = new ReportedProgress();
  for (const step of [10, 20]) {
    reported.addRecord(JSON.stringify({ step, steps: 100, f1: step }));
    reported.addPrinted(`epoch ${step / 10} acc 0.${step}`);
    reported.addPrinted(`val_acc 0.${step + 1}`);
  }
  assert.deepEqual(curvesOf(reported.take()), {
    f1: [
      [10, 10],
      [20, 20],
    ],
    accuracy: [
      [10, 0.1],
      [20, 0.2],
    ],
    val_accuracy: [
      [10, 0.11],
      [20, 0.21],
    ],
  });
});

test('refused metrics are recorded with the reports', () => {
  const reported = new ReportedProgress();
  reported.addRecord('{"loss": 1, "?": 2}');
  assert.deepEqual(reported.take(), [
    { kind: 'progress', loss: 1 },
    { kind: 'metrics-refused', why: 'no-letter', count: 1, examples: ['?'] },
  ]);
});

test('a bar that counts epochs from 0 does not shift the epochs of the records', () => {
  const reported = new ReportedProgress();
  const journal: AgentBody[] = [];
  reported.addPrinted('Epoch 0:  50%|█████     | 1/2 [00:01<00:01, 1.0it/s, v_num=0, acc=0.5]');
  journal.push(...reported.take());
  reported.addRecord('{"epoch": 1, "step": 2, "steps": 2, "loss": 3}');
  reported.addPrinted('Epoch 1:  50%|█████     | 1/2 [00:01<00:01, 1.0it/s, v_num=0, acc=0.6]');
  reported.addRecord('{"epoch": 2, "step": 1, "steps": 2, "loss": 2}');
  journal.push(...reported.take());
  assert.deepEqual(curvesOf(journal), {
    accuracy: [
      [1, 0.5],
      [3, 0.6],
    ],
    loss: [
      [2, 3],
      [3, 2],
    ],
  });
  const firsts = journal.flatMap((body) => (body.kind === 'progress' ? (body.firstEpoch ?? []) : []));
  assert.deepEqual([firsts[0], firsts.at(-1)], [0, 1]);
});

for (const printedEpochs of [false, true])
  test(`epochs that records count from 0 stay so${printedEpochs ? ', as printed ones do' : ''}`, () => {
    const reported = new ReportedProgress();
    const journal: AgentBody[] = [];
    for (const epoch of [0, 1, 2]) {
      if (epoch > 0)
        reported.addPrinted(`${printedEpochs ? `epoch ${epoch} ` : ''}val_loss=${epoch} f1=0.${epoch}`);
      else if (printedEpochs) reported.addPrinted('epoch 0 step 1/10 loss 9');
      journal.push(...reported.take());
      const val_loss = epoch === 0 ? undefined : epoch;
      reported.addRecord(JSON.stringify({ epoch, step: 5, steps: 10, loss: epoch, val_loss }));
      journal.push(...reported.take());
    }
    const { loss, val_loss, f1 } = curvesOf(journal);
    const expected = [0, 1, 2].map((epoch) => [epoch * 10 + 5, epoch]);
    assert.deepEqual({ loss, val_loss }, { loss: expected, val_loss: expected.slice(1) });
    if (printedEpochs)
      assert.deepEqual(f1, [
        [20, 0.1],
        [30, 0.2],
      ]);
  });

for (const takeEvery of [1, 2, 100])
  test(`a loss of batches and one of the training data are two metrics; to the journal every ${takeEvery} lines`, () => {
    const reported = new ReportedProgress();
    const journal: AgentBody[] = [];
    const lines = [0, 10, 20].flatMap((step) => [
      `step ${step}: train loss ${step + 3}, val loss ${step + 4}`,
      `iter ${step}: loss ${step + 1}, time 5.2ms, mfu -100.00%`,
    ]);
    for (const [index, line] of lines.entries()) {
      reported.addPrinted(line);
      if ((index + 1) % takeEvery === 0) journal.push(...reported.take());
    }
    journal.push(...reported.take());
    const { train_loss = [], ...others } = curvesOf(journal);
    assert.deepEqual(others, {
      loss: [0, 10, 20].map((step) => [step, step + 1]),
      val_loss: [0, 10, 20].map((step) => [step, step + 4]),
    });
    const ofPass = [0, 10, 20].map((step) => [step, step + 3]);
    assert.deepEqual(train_loss, takeEvery === 1 ? ofPass.slice(1) : ofPass);
  });

test('records that have a loss and at times a train_loss mean two', () => {
  const reported = new ReportedProgress();
  for (const step of [1, 2]) {
    reported.addRecord(JSON.stringify({ step, train_loss: 10 * step }));
    reported.addRecord(JSON.stringify({ step, loss: step }));
  }
  assert.deepEqual(curvesOf(reported.take()), {
    train_loss: [
      [1, 10],
      [2, 20],
    ],
    loss: [
      [1, 1],
      [2, 2],
    ],
  });
});

/** The values of each metric with their epochs. */
function readLines(lines: readonly string[]): Record<string, [epoch: number | undefined, value: number][]> {
  const reported = new ReportedProgress();
  for (const line of lines) reported.addPrinted(line);
  const found: Record<string, [number | undefined, number][]> = {};
  let at: number | undefined;
  for (const body of reported.take(true)) {
    if (body.kind !== 'progress') continue;
    at = body.epoch ?? at;
    for (const [name, value] of Object.entries(metricsOf(body))) (found[name] ??= []).push([at, value]);
  }
  return found;
}

const meter = 'Time  0.5 ( 0.5)\tData  0.2 ( 0.2)\tLoss 4.0e+00';
test("of PyTorch's ImageNet example, the means count, and the last line of a test is the test's", () => {
  const lines = [0, 1].flatMap((epoch) => [
    `Epoch: [${epoch}][   0/5005]\t${meter} (7.0e+00)\tAcc@1   0.00 (  0.00)\tAcc@5   0.39 (  0.39)`,
    `Epoch: [${epoch}][5000/5005]\t${meter} (5.5e+00)\tAcc@1  20.31 ( 12.11)\tAcc@5  40.39 ( 28.39)`,
    `Test: [  0/196]\t${meter} (3.0e+00)\tAcc@1  93.20 ( 93.20)\tAcc@5  99.00 ( 99.00)`,
    `Test: [190/196]\t${meter} (3.5e+00)\tAcc@1  13.20 ( 25.20)\tAcc@5  30.16 ( 50.16)`,
    ` *   Acc@1 2${epoch}.306 Acc@5 50.212`,
  ]);
  const both = (value: number): [number, number][] => [0, 1].map((epoch) => [epoch, value]);
  assert.deepEqual(readLines(lines), {
    loss: [0, 1].flatMap((epoch) => [7, 5.5].map((value) => [epoch, value])),
    acc1: [0, 1].flatMap((epoch) => [0, 0.1211].map((value) => [epoch, value])),
    acc5: [0, 1].flatMap((epoch) => [0.0039, 0.2839].map((value) => [epoch, value])),
    test_loss: both(3.5),
    test_acc1: [
      [0, 0.20306],
      [1, 0.21306],
    ],
    test_acc5: both(0.50212),
  });
});

test("of torchvision's references, the test counts as its last line has it", () => {
  const lines = [
    'Epoch: [0]  [1250/1251]  eta: 0:00:00  lr: 0.1  loss: 6.0 (6.5)  acc1: 20.0 (12.1)  time: 0.5',
    'Test:   [100/196]  eta: 0:00:50  loss: 1.2 (1.1)  acc1: 75.0 (75.0)  acc5: 93.0 (93.0)  time: 0.5',
    'Test:  Total time: 0:01:40',
    'Test:  Acc@1 69.758 Acc@5 89.000',
  ];
  const { test_acc1, test_acc5, test_loss } = readLines(lines);
  assert.deepEqual([test_acc1, test_acc5, test_loss], [[[0, 0.69758]], [[0, 0.89]], [[0, 1.1]]]);
});

test('a test that is never summed up counts as far as it was printed, once', () => {
  const timm = (batch: number, mean: number): string =>
    `Test: [${batch}/97]  Time: 0.9 (0.9)  Loss: 5.9 ( 6.1)  Acc@1:  90.0 ( ${mean})  Prec@5: 61.0 ( 45.5)`;
  const train = (epoch: number): string => `Train: ${epoch} [0/1251 (  0%)]  Loss: 6.9 (6.9)`;
  const { test_acc1, test_prec5 } = readLines([
    train(1),
    timm(0, 90),
    timm(97, 22.5),
    'Current checkpoints:',
    train(2),
    timm(0, 80),
    timm(97, 25),
  ]);
  assert.deepEqual(
    [test_acc1, test_prec5?.length],
    [
      [
        [1, 0.225],
        [2, 0.25],
      ],
      2,
    ],
  );
});

test('figures below the heading of a test are of the test; so are the means at its end', () => {
  const quickstart = [
    'Epoch 1',
    'loss: 2.3  [   64/60000]',
    'Test Error: ',
    ' Accuracy: 44.5%, Avg loss: 2.09 ',
  ];
  assert.deepEqual(readLines([...quickstart, '', 'Epoch 2', 'loss: 1.5  [   64/60000]']), {
    loss: [
      [1, 2.3],
      [2, 1.5],
    ],
    test_accuracy: [[1, 0.445]],
    test_loss: [[1, 2.09]],
  });
  const deit = [
    'Epoch: [1]  [1250/1251]  eta: 0:00:00  lr: 0.0001  loss: 5.95 (6.25)  time: 1.0  data: 0.5',
    'Test:  [ 9/10]  eta: 0:00:00  loss: 0.8 (0.86)  acc1: 76.0 (79.1)  acc5: 94.0 (94.9)  time: 1.0',
    'Test: Total time: 0:00:10 (1.0 s / it)',
    '* Acc@1 79.500 Acc@5 95.000 loss 0.850',
    'Test Results:',
    '  f1: 0.5',
    '  loss: 0.75',
  ];
  assert.deepEqual(readLines(deit), {
    loss: [[1, 6.25]],
    test_loss: [
      [1, 0.85],
      [1, 0.75],
    ],
    test_acc1: [[1, 0.795]],
    test_acc5: [[1, 0.95]],
    test_f1: [[1, 0.5]],
  });
});

test('figures of an epoch are its own if the next line begins another', () => {
  const bar = (loss: number): string => `938/938 - 3s - 3ms/step - loss: ${loss} - val_loss: 0.15`;
  assert.deepEqual(readLines(['Epoch 1/2', 'loss: 9', bar(0.3), 'Epoch 2/2', bar(0.2)])['loss'], [
    [1, 9],
    [1, 0.3],
    [2, 0.2],
  ]);
});

test('an accuracy that is ever above 1 is a percentage: what was taken for fractions is void', () => {
  const reported = new ReportedProgress();
  const journal: AgentBody[] = [];
  for (const value of ['0.95', '1.32', '0.80', '40.0']) {
    reported.addPrinted(`Epoch ${value.length} | val acc ${value} | test acc 0.5 | train top1 0.3%`);
    journal.push(...reported.take());
  }
  const { val_accuracy, test_accuracy, train_top1 } = curvesOf(journal);
  const values = [val_accuracy, test_accuracy, train_top1].map((curve) => curve?.map(([, value]) => value));
  assert.deepEqual(values, [[0.0132, 0.008, 0.4], Array(4).fill(0.5), Array(4).fill(0.003)]);
  assert.deepEqual(
    journal.flatMap((body) => (body.kind === 'progress-scaled' ? [body.scales] : [])),
    [{ val_accuracy: 'bare', test_accuracy: 'bare' }, { val_accuracy: 'percent' }],
  );
});
