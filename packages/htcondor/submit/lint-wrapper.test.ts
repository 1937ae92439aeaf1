import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lintWrapper } from '../lint/lint.ts';

const rules = (script: string): string[] =>
  lintWrapper('run.sh', script).map(({ rule, line }) => `${rule}:${line}`);

const head = '#!/bin/bash\nset -e\n';

test('a status kept by hand, by exec or by stopping on errors is not reported as lost', () => {
  assert.deepEqual(rules('#!/bin/bash\npython3 t.py\nstatus=$?\nrm -rf data\nexit $status\n'), []);
  assert.deepEqual(rules('#!/bin/bash\npython3 t.py || exit 1\nrm -rf data\n'), []);
  assert.deepEqual(rules('#!/bin/bash\nexec python3 t.py\n'), []);
  assert.deepEqual(rules('#!/bin/bash\npython3 t.py\nexit $?\n'), []);
  assert.deepEqual(rules('#!/bin/bash -e\npython3 t.py\nrm -rf data\n'), []);
  assert.deepEqual(rules(`${head}python3 t.py\nrm -rf data\n`), []);
  assert.deepEqual(rules('#!/bin/sh\nset -o errexit\npython3 t.py\necho done\n'), []);
});

test('a status hidden by a later command is reported at that command', () => {
  assert.deepEqual(rules('#!/bin/bash\npython3 t.py\nrm -rf data\n'), ['status-lost:3']);
  assert.deepEqual(rules('#!/bin/bash\n./train\necho finished\nexit 0\n'), ['status-lost:4']);
  assert.deepEqual(rules('#!/bin/bash\npython3 t.py\nrm -rf data\nexit $?\n'), ['status-lost:4']);
});

test('a pipe without pipefail hides the status', () => {
  assert.deepEqual(rules(`${head}python3 t.py | tee log\n`), ['pipe-status-lost:3']);
  assert.deepEqual(rules('#!/bin/bash\nset -euo pipefail\npython3 t.py | tee log\n'), []);
});

test('an option at the start of a line is a command, unless the line above continues', () => {
  assert.deepEqual(rules(`${head}python3 t.py \\\n  --epochs 3\n`), []);
  assert.deepEqual(rules(`${head}python3 t.py\n  --epochs 3\n`), ['option-as-command:4']);
  assert.deepEqual(rules(`${head}python3 t.py \\ \n  --epochs 3\n`), [
    'broken-continuation:3',
    'option-as-command:4',
  ]);
});

test('comments, quotes and here-documents hide what looks like commands', () => {
  const script = `${head}# pip install x\necho "rm; pip install y" # wget z\ncat > f <<EOF\n--epochs\npip install w\nEOF\npython3 t.py\n`;
  assert.deepEqual(rules(script), []);
});

test('options inside substitutions, arrays, arithmetic, tests and case patterns are not commands', () => {
  const lines = [
    'FIELD=$(awk -F, \\',
    '  -v n=1 "{print \\$1}" list.csv)',
    'SIZE=`ls \\',
    '  -lh data | wc -l`',
    'args=(',
    '  --epochs 3 # three',
    '  --lr 0.1',
    ')',
    'for ((i=0; i<3; --i)); do echo "$i"; done',
    'while [[ $# -gt 0 &&',
    '  -n $1 ]]; do',
    '  case $1 in',
    '    --help|-h) echo usage ;;',
    '    -v) shift ;;&',
    '    *) break ;;',
    '  esac',
    'done',
    'python3 t.py "${args[@]}"',
  ];
  assert.deepEqual(rules(`${head}${lines.join('\n')}\n`), []);
});

test('a pipe inside a substitution hides no status of the training', () => {
  assert.deepEqual(rules(`${head}N=\`ls | wc -l\`\npython3 t.py --n $(cat n | head -1)\n`), []);
});

test('commands after a function, a case or a loop are top-level again', () => {
  const block =
    'setup() {\n  mkdir x\n}\nfunction two { ls; }\ncase $1 in a) ls;; esac\nfor x in a b; do ls; done\n(cd x)\n';
  assert.deepEqual(rules(`#!/bin/bash\n${block}python3 t.py\nrm -rf data\n`), ['status-lost:10']);
});

test('downloads at run time are reported, also after other words', () => {
  assert.deepEqual(
    rules(
      `${head}if true; then\n  pip3 install a\nfi\npython -m pip install b && wget https://x.example/y\npython t.py\n`,
    ),
    ['run-time-download:4', 'run-time-download:6', 'run-time-download:6'],
  );
  assert.deepEqual(rules(`${head}pip install --no-index ./wheels/a.whl\npython t.py\n`), []);
});

test('a file that is not a shell script has no findings', () => {
  assert.deepEqual(lintWrapper('train.py', '#!/usr/bin/env python3\nimport torch\n'), []);
});

test('what follows exec is not shell, and the subject of a case may end its line', () => {
  assert.deepEqual(rules(`${head}exec expect "$0"\nswitch $x {\n  -v {}\n}\n`), []);
  assert.deepEqual(rules(`${head}case "$1"\nin "--all") ls\n;; "--none") ls\nesac\npython3 t.py\n`), []);
});
