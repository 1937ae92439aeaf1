import assert from 'node:assert/strict';
import { test } from 'node:test';
import { maxMetrics, type Progress } from '@updraft/account/journal';
import { mergeProgress, progressOfLine, progressOfRecord } from '../../job/progress-of-line.ts';
import { MetricNames } from './reported-progress.ts';

for (const [line, expected] of [
  ['Train Epoch: 1 [640/60000 (1%)]\tLoss: 0.45', { epoch: 1, step: 640, steps: 60000, loss: 0.45 }],
  ['Train Epoch: 1/6 [640/60000 (1%)]', { epoch: 1, epochs: 6, step: 640, steps: 60000 }],
  [
    'Test set: Average loss: 0.0300, Accuracy: 9909/10000 (99%)',
    { metrics: { test_loss: 0.03, test_accuracy: 0.9909 } },
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
  ['val acc: 87.5%', { metrics: { val_accuracy: 0.875 } }],
  ['accuracy = 0.5', { accuracy: 0.5 }],
  ['{"epoch": 4, "loss": 0.25}', { epoch: 4, done: 4, loss: 0.25 }],
  ["{'loss': 0.4, 'learning_rate': 1e-05, 'epoch': 0.32}", { epoch: 0.32, done: 0.32, loss: 0.4 }],
  ['3 classes are there, waited=12.5', { waited: 12.5 }],
  ['waited 5 seconds for a lock', {}],
  ['* Acc@1 71.2 Acc@5 90.1', { metrics: { acc1: 0.712, acc5: 0.901 } }],
  [
    'Epoch 2/4 | Train Loss: 0.91 | Val Loss: 0.82 | Val Acc: 61%',
    { epoch: 2, epochs: 4, done: 2, loss: 0.91, metrics: { val_loss: 0.82, val_accuracy: 0.61 } },
  ],
  [
    'Epoch 002 | Train Loss: 0.9 | Val Loss: 0.8 | Train Acc: 0.7 | Val Acc: 0.6',
    { epoch: 2, done: 2, loss: 0.9, accuracy: 0.7, metrics: { val_loss: 0.8, val_accuracy: 0.6 } },
  ],
  [
    '[2/4] Train Loss: 0.9 | Acc: 0.7 | Val Loss: 0.8 | Acc: 0.6',
    { loss: 0.9, accuracy: 0.7, metrics: { val_loss: 0.8, val_accuracy: 0.6 } },
  ],
  ['Epoch: 01 | Epoch Time: 0m 4s', { epoch: 1 }],
  ['\tTrain Loss: 0.693 | Train Acc: 50.5%', { loss: 0.693, accuracy: 0.505 }],
  ['\t Val. Loss: 0.612 |  Val. Acc: 62.5%', { metrics: { val_loss: 0.612, val_accuracy: 0.625 } }],
  ['Test Loss: 0.85 | Test Acc: 0.67', { metrics: { test_loss: 0.85, test_accuracy: 0.67 } }],
  ['train_loss: 0.4 val_loss: 0.5', { loss: 0.4, metrics: { val_loss: 0.5 } }],
  ['val_loss=0.4, loss=0.3', { loss: 0.3, metrics: { val_loss: 0.4 } }],
  ['epoch 3 loss 0.5 val_acc 68.00', { epoch: 3, done: 3, loss: 0.5, metrics: { val_accuracy: 0.68 } }],
  [
    'INFO epoch=1 | train_loss: 0.4 | eval/accuracy: 0.6',
    { epoch: 1, done: 1, loss: 0.4, metrics: { val_accuracy: 0.6 } },
  ],
  [
    'Epoch 1: 100%|██| 20/20 [00:01<00:00, 12.3it/s, v_num=0, train_loss=0.3, val/loss=0.4, val/acc=0.6]',
    { epoch: 1, step: 20, steps: 20, loss: 0.3, metrics: { val_loss: 0.4, val_accuracy: 0.6 } },
  ],
  ['        test/loss           0.05', { metrics: { test_loss: 0.05 } }],
  ['│         test/acc          │    0.75      │', { metrics: { test_accuracy: 0.75 } }],
  ['10:00 INFO Validation: loss 0.5, acc 0.6', { metrics: { val_loss: 0.5, val_accuracy: 0.6 } }],
  ['dev loss 0.5; Evaluation accuracy is 75%', { metrics: { val_loss: 0.5, val_accuracy: 0.75 } }],
  ['epoch 3 (train: 12.3 s, val: 2.1 s) loss: 0.4', { epoch: 3, done: 3, loss: 0.4 }],
  ['Test: [  78/78]  Loss:   0.8 (0.9)  Acc@1: 0.5 (0.5)', { metrics: { test_loss: 0.9, test_acc1: 0.005 } }],
  ['Train: 3 [  50/1251 (  4%)]  Loss: 6.9 (6.95)', { epoch: 3, step: 50, steps: 1251, loss: 6.95 }],
  ['Best val acc: 90%, best loss: 0.1', {}],
  ['kl_loss: 0.2 aux/loss=0.1, error: 3 files, f1: 5', {}],
  ['accuracy: 150 of them', { accuracy: 150 }],
  ['the test of 3 losses took 5 s', {}],
  ['        accuracy                           0.92       314', {}],
  ['  port: 8080', {}],
  [
    "{'eval_loss': 0.5, 'eval_f1_macro': np.float64(0.4), 'eval_runtime': 3.1, 'epoch': 2.0}",
    { epoch: 2, done: 2, metrics: { val_loss: 0.5, eval_f1_macro: 0.4 } },
  ],
  ["{'loss': '0.4', 'grad_norm': '1.5', 'epoch': '0.5'}", { loss: 0.4, epoch: 0.5, done: 0.5 }],
  [
    "{'train_runtime': 9.5, 'train_loss': 0.7, 'epoch': 3.0}",
    { epoch: 3, done: 3, metrics: { train_loss: 0.7 } },
  ],
  [
    '{"train_lr": 1e-6, "train_loss": 0.9, "test_loss": 0.8, "test_acc1": 55.0, "epoch": 1, "n_parameters": 57}',
    { epoch: 1, done: 1, loss: 0.9, metrics: { test_loss: 0.8, test_acc1: 0.55 } },
  ],
  ['{"step": 5, "R²": 0.5, "loss": 0.75}', { step: 5, loss: 0.75, metrics: { 'R²': 0.5 } }],
  ["{'lr': 0.1, 'loss_weight': 2, 'f1_threshold': 0.5}", {}],
  ['lossless compression of 3 epochs of geology', {}],
  ['glossy: 5', {}],
  ['', {}],
  ['F1 score: 0.91', { metrics: { f1_score: 0.91 } }],
  ['ROC AUC: 0.97', { metrics: { roc_auc: 0.97 } }],
  ['R2 score = 0.83', { metrics: { r2_score: 0.83 } }],
  ['Log loss: 0.08', { metrics: { log_loss: 0.08 } }],
  ['Balanced accuracy: 88', { metrics: { balanced_accuracy: 0.88 } }],
  ['Average accuracy: 0.5', { accuracy: 0.5 }],
  ['Test F1-score: 0.81, ROC AUC: 0.9', { metrics: { test_f1_score: 0.81, test_roc_auc: 0.9 } }],
  ['Precision: 0.9 Recall: 0.8', { metrics: { Precision: 0.9, Recall: 0.8 } }],
  ['BLEU = 27.3', { metrics: { BLEU: 27.3 } }],
  ['train_loss 1.2 val_loss 1.3 val_ppl 3.4', { loss: 1.2, metrics: { val_loss: 1.3, val_ppl: 3.4 } }],
  [
    'epoch 3 | valid ppl 23.1 | valid loss 3.14',
    { epoch: 3, done: 3, metrics: { val_ppl: 23.1, val_loss: 3.14 } },
  ],
  ['Epoch 5, Loss: 0.3, F1: 0.81', { epoch: 5, done: 5, loss: 0.3, metrics: { F1: 0.81 } }],
  ['Epoch [0/9], Loss: 0.3', { epoch: 0, epochs: 9, firstEpoch: 0, done: 0, loss: 0.3 }],
  ["{'loss': 0.4, 'epoch': 0.0}", { epoch: 0, done: 0, loss: 0.4 }],
  ['Accuracy of model: 0.93', { accuracy: 0.93 }],
  ['The accuracy of the model is 93 %', { accuracy: 0.93 }],
  ['Accuracy of the network on the 10000 test images: 55 %', { metrics: { test_accuracy: 0.55 } }],
  ['Accuracy of our model on the validation set = 0.7', { metrics: { val_accuracy: 0.7 } }],
  ['Perplexity 23.1', { metrics: { Perplexity: 23.1 } }],
  ['Accuracy: 0.91 (+/- 0.02)', { accuracy: 0.91 }],
  ...[
    'Accuracy of plane : 55 %',
    'Accuracy for class: plane is 55.0 %',
    'Accuracy of the model on class cat: 0.5',
    'Accuracy of the base model: 0.8',
    'Best accuracy of the model: 0.95',
    'Accuracy of model dropped from: 0.93',
    'Perplexity of the base model: 20 epochs',
    'the perplexity 23.1 of the baseline',
    'Error 3',
    'precision 16',
  ].map((line) => [line, {}] as const),
  ['using precision=16, 4 devices', {}],
  ['error: 3, retry 5', {}],
  ['recall 5 things; the log loss of 3 files', {}],
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
  assert.deepEqual(progressOfLine(' '.repeat(1_000_000)), {});
});

test('a record has numbers, including NaN and Infinity, and nothing else', () => {
  assert.equal(progressOfRecord('{"epoch": 0, "loss": 1}').firstEpoch, 0);
  assert.equal(progressOfRecord('{"epoch": 0.0, "loss": 1}').firstEpoch, undefined);
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

test('any name of a metric is made safe; what cannot be is counted by its reason, when there is news', () => {
  const names = new MetricNames();
  const odd = { 'Val RMSE': 1, 'F1 (macro)': 2, 'mAP@0.5:0.95': 3, 'Präzision %': 4, '-x': 5, _t: 6 };
  assert.deepEqual(names.admit(progressOfRecord(JSON.stringify(odd))), {
    metrics: { Val_RMSE: 1, F1_macro: 2, 'mAP@0.5:0.95': 3, 'Präzision_%': 4, x: 5, _t: 6 },
  });
  assert.deepEqual(names.takeRefused(), []);
  const long = 'x'.repeat(61);
  const bad = progressOfRecord(JSON.stringify({ loss: 1, '?': 1, [long]: 3 }));
  for (let time = 0; time < 2; time++) assert.deepEqual(names.admit(bad), { loss: 1 });
  assert.deepEqual(names.takeRefused(), [
    { why: 'no-letter', count: 1, examples: ['?'] },
    { why: 'too-long', count: 1, examples: [long] },
  ]);
  const admit = (from: number, to: number): Progress => {
    const many = Array.from({ length: to - from }, (_, at) => [`m${from + at}`, at]);
    return names.admit({ metrics: Object.fromEntries(many) as Record<string, number> });
  };
  assert.equal(Object.keys(admit(0, 31).metrics ?? {}).length, maxMetrics - 6);
  const refused = (count: number) => [{ why: 'too-many', count, examples: ['m26', 'm27', 'm28'] }];
  assert.deepEqual(names.takeRefused(), refused(5));
  admit(0, 31);
  assert.deepEqual(names.takeRefused(), []);
  admit(0, 33);
  assert.deepEqual(names.takeRefused(), refused(7));
  for (const from of [0, 200]) admit(from, from + 200);
  assert.deepEqual(names.takeRefused(), refused(100), 'a hundred stands for many');
  admit(0, 1000);
  assert.deepEqual(names.takeRefused(), []);
  assert.deepEqual(names.admit({ loss: 1, metrics: { another: 1 } }), { loss: 1 });
});

test('a loss or accuracy has the same name and measure in a record as in print', () => {
  for (const [name, value] of Object.entries({
    val_acc: 61,
    'test/loss': 3,
    'Val. Loss': 2,
    train_acc: 0.5,
    acc: 68,
  }))
    assert.deepEqual(
      progressOfRecord(JSON.stringify({ [name]: value })),
      progressOfLine(`${name}: ${value}`),
      name,
    );
  assert.deepEqual(progressOfRecord('{"train_loss": 2, "loss": 1, "accuracy": 50}'), {
    loss: 1,
    accuracy: 0.5,
    metrics: { train_loss: 2 },
  });
});

test('a metric may be called like what every object has', () => {
  assert.deepEqual(progressOfRecord('{"constructor": 1, "__proto__": 2}'), {
    metrics: { constructor_: 1, __proto: 2 },
  });
});

test('other numbers of a record are metrics', () => {
  assert.deepEqual(progressOfRecord('{"epoch": 1, "val_f1": 0.5, "note": "x", "a b": 1, "grad": NaN}'), {
    epoch: 1,
    done: 1,
    metrics: { val_f1: 0.5, a_b: 1, grad: NaN },
  });
  assert.deepEqual(mergeProgress([{ metrics: { a: 1, b: 1 } }, { loss: 1 }, { metrics: { b: 2 } }]), {
    loss: 1,
    metrics: { a: 1, b: 2 },
  });
});

test("of Lightning's two values of one metric, that of the epoch counts", () => {
  const both = { train_loss_step: 1, train_loss_epoch: 2, val_f1_epoch: 3, lr_step: 4, epoch: 5 };
  assert.deepEqual(progressOfRecord(JSON.stringify(both)), {
    ...{ epoch: 5, done: 5, loss: 2 },
    metrics: { val_f1: 3, lr_step: 4 },
  });
  assert.deepEqual(progressOfRecord(JSON.stringify({ ...both, train_loss: 7 })).loss, 7);
});

for (const [line, expected] of [
  [
    'Epoch 2:  50%|██▌  | 4/8 [00:00<00:00, 93it/s, v_num=0, train_loss_step=0.25, val_acc=0.5, train_loss_epoch=0.8]',
    { epoch: 2, step: 4, steps: 8, loss: 0.25, metrics: { val_accuracy: 0.5 } },
  ],
  [
    'Epoch: [1]  [  10/5004]  eta: 1:00:00  lr: 0.1  loss: 6.9 (6.95)  acc1: 0.4 (0.2)',
    { epoch: 1, step: 10, steps: 5004, loss: 6.95 },
  ],
  [
    'Epoch: [1][  11/5005]\tTime 0.3\tLoss 6.9e+00 (6.95e+00)',
    { epoch: 1, step: 11, steps: 5005, loss: 6.95 },
  ],
  ['Train: [2/300][50/1251]\tloss 6.9 (6.95)', { epoch: 2, epochs: 300, step: 50, steps: 1251, loss: 6.95 }],
  ['loss: 2.303494  [   64/60000]', { step: 64, steps: 60_000, loss: 2.303494 }],
  ['Accuracy: 0.912 (0.021)', { accuracy: 0.912 }],
  ['Accuracy of the network on the 10000 test images: 55 %', { metrics: { test_accuracy: 0.55 } }],
  ['Test Accuracy of the model on the 10000 test images: 97.5 %', { metrics: { test_accuracy: 0.975 } }],
  ['Accuracy for class: plane is 63.2 %', {}],
  ['[01/01 10:00:00 d2]:  eta: 0:10:00  iter: 19  total_loss: 2.1  loss_cls: 0.9', { step: 19, loss: 2.1 }],
] as const)
  test(`what public training scripts print is read: ${line.slice(0, 24)}`, () => {
    assert.deepEqual(progressOfLine(line), expected);
  });
