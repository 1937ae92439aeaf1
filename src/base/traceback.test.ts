import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastTraceback, raisedAt } from './traceback.ts';

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

test('a syntax error keeps its marker; of chained or per-rank tracebacks the last is used', () => {
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
