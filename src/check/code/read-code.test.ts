import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { makeCode } from '../../../test/check/facts.ts';
import { applyRules } from '@updraft/base';
import { downloadRules } from '../rules/downloads.ts';
import { usesOf } from './read-code.ts';

const files = (sent: Record<string, string>, command?: string): string[] =>
  makeCode(sent, command).files.map(({ file, kind }) => `${file} ${kind}`);

test('files that the command names are read, and those they name in turn; others are not', () => {
  const sent = {
    'run.sh': '#!/bin/sh\n. ./env.sh\n./tool --fast\n',
    'env.sh': 'export A=1\n',
    tool: '#!/usr/bin/env python3\nimport helper\n',
    'helper.py': '',
    'other.py': '',
    'data.json': '{}',
  };
  assert.deepEqual(files(sent, 'bash run.sh data.json'), [
    'run.sh shell',
    'env.sh shell',
    'tool python',
    'helper.py python',
  ]);
});

test('a file that is only copied or packed is not code of the job', () => {
  const sent = {
    'run.sh': 'cp old.py there/\ntar cf x.tar old.py\npython3 new.py\n',
    'old.py': '',
    'new.py': '',
  };
  assert.deepEqual(files(sent, 'sh run.sh'), ['run.sh shell', 'new.py python']);
});

test('files that import or run each other are read once', () => {
  const sent = { 'a.py': 'import b\n', 'b.py': 'import a\n', 'x.sh': 'sh x.sh\n' };
  assert.deepEqual(files(sent, 'python3 a.py; sh x.sh'), ['a.py python', 'b.py python', 'x.sh shell']);
});

test('a program that is not sent is not known', () => {
  assert.equal(makeCode({}, '/opt/train --fast').isKnown, false);
  assert.equal(makeCode({ 'train.py': '' }).isKnown, true);
});

test('the reader accepts any text', () => {
  const pieces = fc.constantFrom(
    ...[
      'import ',
      'from ',
      '"""',
      "'",
      '"',
      '\\',
      '\n',
      '    ',
      '#',
      '(',
      ')',
      '$(',
      '`',
      '|',
      '&&',
      '.',
      'x',
      'try:',
      '_Weights.',
    ],
  );
  const text = fc.oneof(
    fc.string(),
    fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join('')),
  );
  fc.assert(
    fc.property(text, text, text, (python, shell, command) => {
      const sent = { 'train.py': python, 'run.sh': shell };
      const code = makeCode(sent, `python3 train.py; sh run.sh; ${command}`);
      usesOf(code, Object.keys(sent));
      applyRules(downloadRules, { code, env: {}, folders: [] });
    }),
    { numRuns: 300 },
  );
});
