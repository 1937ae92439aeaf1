import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastSaid, lastTraceback, ofFailingRank, ofRankZero, raisedAt } from './traceback.ts';

const work = '/scratch/updraft-run-0000-1/updraft-Ab1/work';
const library = '/env/lib/python3.12/site-packages/torch/nn/module.py';

test("the end of a traceback includes the program's own line, even above library frames", () => {
  const printed = [
    'UserWarning: slow',
    'Traceback (most recent call last):',
    `  File "${work}/train.py", line 22, in <module>`,
    '    main()',
    `  File "${work}/train.py", line 18, in main`,
    '    model(batch)',
    '    ~~~~~^^^^^^^',
    ...[1, 2, 3].flatMap((at) => [`  File "${library}", line ${at}, in call`, '    return call()']),
    'RuntimeError: shapes differ',
    'expected (3, 4)',
    '',
    'torchrun: gone',
  ];
  assert.deepEqual(lastTraceback(printed), [
    '  File "train.py", line 18, in main',
    '    model(batch)',
    '  File "torch/nn/module.py", line 2, in call',
    '    return call()',
    '  File "torch/nn/module.py", line 3, in call',
    '    return call()',
    'RuntimeError: shapes differ',
    'expected (3, 4)',
  ]);
  assert.equal(raisedAt(printed), 'train.py, line 18');
  assert.equal(raisedAt(printed.map((line) => line.trim())), 'train.py, line 18');
});

test('a syntax error keeps its marker; what is cut off at its start is shown from there', () => {
  const syntax = ['  File "train.py", line 1', '    def f(:', '          ^', 'SyntaxError: invalid syntax'];
  assert.deepEqual(lastTraceback(syntax), syntax);
  const chained = [
    'KeyError: 1',
    'During handling of the above exception, another exception occurred:',
    'Traceback (most recent call last):',
    '  File "b.py", line 2, in <module>',
    'ValueError: 2',
  ].map((line) => `[rank0]: ${line}`);
  assert.deepEqual(lastTraceback(chained), ['  File "b.py", line 2, in <module>', 'ValueError: 2']);
  assert.deepEqual(lastTraceback(['Killed']), []);
  assert.equal(raisedAt(['Killed']), undefined);
});

const raised = (file: string, exception: string): string[] => [
  'Traceback (most recent call last):',
  `  File "${file}", line 2, in <module>`,
  '    run()',
  exception,
];

test('of chained exceptions the first is shown: the others followed from it', () => {
  const direct = 'The above exception was the direct cause of the following exception:';
  const handling = 'During handling of the above exception, another exception occurred:';
  const printed = [
    ...raised('earlier.py', 'OSError: handled'),
    'epoch 1',
    ...raised('load.py', 'KeyError: 1'),
    ...['', direct, ''],
    ...raised('train.py', 'ValueError: 2'),
    ...['', handling, ''],
    ...raised('main.py', 'SystemError: 3'),
  ];
  assert.deepEqual(lastTraceback(printed), [
    '  File "load.py", line 2, in <module>',
    '    run()',
    'KeyError: 1',
  ]);
  assert.equal(raisedAt(printed), 'load.py, line 2');
  assert.equal(lastSaid(printed), 'KeyError: 1');
  assert.equal(lastSaid(['no traceback', '']), 'no traceback');
});

test("under torchrun the failing rank's exception is shown, not that of torchrun or of the others", () => {
  const ofRank = (rank: number, lines: string[]): string[] => lines.map((line) => `[rank${rank}]: ${line}`);
  const launcher = [
    ...raised('/env/bin/torchrun', 'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: '),
    'train.py FAILED',
    'Root Cause (first observed failure):',
    ...[
      '[0]:',
      '  time      : 2026-11-18_10:00:00',
      '  rank      : 1 (local_rank: 1)',
      '  exitcode  : 1 (pid: 9)',
    ],
  ];
  const ranks = [
    ...ofRank(1, raised('train.py', 'ValueError: bad sample')),
    ...ofRank(0, raised('train.py', 'RuntimeError: connection closed by peer')),
  ];
  for (const printed of [
    ranks,
    [...ranks.slice(4), ...ranks.slice(0, 4)],
    [...ranks, ...launcher],
    [...ranks.slice(4), ...ranks.slice(0, 4), ...launcher],
  ])
    assert.equal(lastTraceback(printed).at(-1), 'ValueError: bad sample');
  const unmarked = [...raised('train.py', 'ValueError: bad sample'), ...launcher];
  assert.equal(lastTraceback(unmarked).at(-1), 'ValueError: bad sample');
  assert.equal(lastSaid([...ranks, ...launcher]), 'ValueError: bad sample');
  const logged =
    'E1119 01:52:44.686000 678 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1)';
  assert.equal(lastSaid(['no such folder: data', logged, ...launcher]), 'no such folder: data');
});

test('of ranks that the agent or torchrun has marked, the one that is known to have failed is shown', () => {
  const printed = [
    ...raised('train.py', 'RuntimeError: connection closed by peer'),
    ...raised('train.py', 'ValueError: bad sample').map((line) => `[rank 1] ${line}`),
    ...raised('train.py', 'KeyError: 7').map((line) => `[rank 12] [rank12]: ${line}`),
  ];
  assert.equal(lastTraceback(printed, 0).at(-1), 'RuntimeError: connection closed by peer');
  assert.equal(lastTraceback(printed, 1).at(-1), 'ValueError: bad sample');
  assert.equal(lastTraceback(printed, 12).at(-1), 'KeyError: 7');
  assert.deepEqual(lastTraceback(printed, 3), []);
  const killed = [
    '[default0]:epoch 3',
    ...raised('/env/bin/torchrun', 'torch.distributed.elastic.multiprocessing.errors.ChildFailedError: '),
    'Root Cause (first observed failure):',
    '  rank      : 1 (local_rank: 1)',
    '  exitcode  : -9 (pid: 77)',
    '  traceback : Signal 9 (SIGKILL) received by PID 77',
  ];
  assert.deepEqual(ofFailingRank(killed), ['epoch 3', 'Signal 9 (SIGKILL) received by PID 77']);
});

test('what rank 0 printed has no mark, or its own', () => {
  for (const line of ['epoch 3', '[rank0]: epoch 3', '[default0]:epoch 3', 'epoch 3[rank 2] epoch 9'])
    assert.equal(ofRankZero(line), 'epoch 3');
  for (const line of ['[rank 1] epoch 9', '[rank12]: epoch 9', '[default3]:epoch 9'])
    assert.equal(ofRankZero(line), '');
});
