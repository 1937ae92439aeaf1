import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lintWrapper } from './lint.ts';

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
