import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxMetrics, mergeProgress, MetricNames, progressOfLine, progressOfRecord } from './progress.ts';

for (const [line, expected] of [
  ['Train Epoch: 1 [640/60000 (1%)]\tLoss: 0.45', { epoch: 1, step: 640, steps: 60000, loss: 0.45 }],
  ['Train Epoch: 1/6 [640/60000 (1%)]', { epoch: 1, epochs: 6, step: 640, steps: 60000 }],
  [
    'Test set: Average loss: 0.0300, Accuracy: 9909/10000 (99%)',
    { accuracy: 0.9909, metrics: { val_loss: 0.03 } },
  ],
  [
    'epoch 2 val_loss=0.5 val_acc: 91 %',
    { epoch: 2, done: 2, metrics: { val_loss: 0.5, val_accuracy: 0.91 } },
  ],
  ['epoch=3 loss=1.5e-3', { epoch: 3, done: 3, loss: 0.0015 }],
  ['Epoch 3/10', { epoch: 3, epochs: 10 }],
  ['Epoch [3/10], Step [5/100], Loss: 2.3026', { epoch: 3, epochs: 10, step: 5, steps: 100, loss: 2.3026 }],
  ['step 5/100', { step: 5, steps: 100 }],
  ['epoch 2 of 5: loss nan', { epoch: 2, epochs: 5, done: 2, loss: NaN }],
  ['loss: -inf', { loss: -Infinity }],
  ['Epoch 2:  75%|███  | 45.0k/60.0k [00:10<00:12]', { epoch: 2, step: 45_000, steps: 60_000 }],
  ['  45%|####   | 45/100 [00:10<00:12, 4.5it/s, loss=0.123]', { step: 45, steps: 100, loss: 0.123 }],
  ['val acc: 87.5%', { accuracy: 0.875 }],
  ['accuracy = 0.5', { accuracy: 0.5 }],
  ['{"epoch": 4, "loss": 0.25}', { epoch: 4, done: 4, loss: 0.25 }],
  ["{'loss': 0.4, 'learning_rate': 1e-05, 'epoch': 0.32}", { epoch: 0.32, done: 0.32, loss: 0.4 }],
  ['3 classes are there, waited=12.5', { waited: 12.5 }],
  ['waited 5 seconds for a lock', {}],
  ['* Acc@1 71.2 Acc@5 90.1', {}],
  ['lossless compression of 3 epochs of geology', {}],
  ['glossy: 5', {}],
  ['', {}],
] as const)
  test(`understands ${JSON.stringify(line)}`, () => assert.deepEqual(progressOfLine(line), expected));

test('only the beginning of a very long line is read', () => {
  const filler = 'epoch '.repeat(200_000);
  assert.deepEqual(progressOfLine(`epoch 3 loss=0.5 ${filler} accuracy=0.5`), {
    epoch: 3,
    done: 3,
    loss: 0.5,
  });
  assert.deepEqual(progressOfLine(`${filler} loss=0.5`), {});
  assert.deepEqual(progressOfLine('1'.repeat(1_000_000)), {});
});

test('a record has numbers, including NaN and Infinity, and nothing else', () => {
  assert.deepEqual(progressOfRecord('{"epoch":2,"loss":NaN,"steps":"7","other":"1"}'), {
    epoch: 2,
    done: 2,
    loss: NaN,
  });
  assert.deepEqual(progressOfRecord('{"loss": -Infinity}'), { loss: -Infinity });
  assert.deepEqual(progressOfRecord('{"waited": 3.5}'), { waited: 3.5 });
  for (const bad of ['', 'null', '[1]', '{"epoch":', '7']) assert.deepEqual(progressOfRecord(bad), {});
});

test('the latest value of each field wins', () => {
  assert.deepEqual(mergeProgress([{ epoch: 1, loss: 3 }, {}, { loss: 2 }]), { epoch: 1, loss: 2 });
});

test('any name of a metric is made safe, but one that is too long', () => {
  const odd = { 'Val RMSE': 1, 'F1 (macro)': 2, 'mAP@0.5:0.95': 3, 'Präzision %': 4, '-x': 5, _t: 6, '?': 7 };
  assert.deepEqual(progressOfRecord(JSON.stringify({ ...odd, ['x'.repeat(61)]: 8 })), {
    metrics: { Val_RMSE: 1, F1_macro: 2, 'mAP@0.5:0.95': 3, 'Präzision_%': 4, x: 5, _t: 6 },
  });
});

test('other numbers of a record are metrics, as long as their names are few and plain', () => {
  assert.deepEqual(progressOfRecord('{"epoch": 1, "val_f1": 0.5, "note": "x", "a b": 1, "grad": NaN}'), {
    epoch: 1,
    done: 1,
    metrics: { val_f1: 0.5, a_b: 1, grad: NaN },
  });
  assert.deepEqual(mergeProgress([{ metrics: { a: 1, b: 1 } }, { loss: 1 }, { metrics: { b: 2 } }]), {
    loss: 1,
    metrics: { a: 1, b: 2 },
  });
  const names = new MetricNames();
  const many = Object.fromEntries(Array.from({ length: maxMetrics + 5 }, (_, at) => [`m${at}`, at]));
  assert.equal(Object.keys(names.admit({ metrics: many }).metrics ?? {}).length, maxMetrics);
  assert.deepEqual(names.admit({ loss: 1, metrics: { another: 1 } }), { loss: 1 });
});
