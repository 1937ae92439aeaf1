import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import fc from 'fast-check';
import { shellQuote } from './shell-quote.ts';

test('a real shell returns any quoted text unchanged', () => {
  const words = fc.array(
    fc.oneof(
      fc.string({ unit: 'binary' }).map((text) => text.replaceAll(/[\0\ud800-\udfff]/g, '')),
      fc.constantFrom(
        '',
        "'",
        '"',
        '$(id)',
        '`id`',
        '\\',
        '\n',
        '-n',
        '*',
        '~',
        '!',
        "a'b'c",
        '${HOME}',
        '#',
      ),
    ),
    { minLength: 1, maxLength: 60 },
  );
  fc.assert(
    fc.property(words, (texts) => {
      const script = `printf '%s\\0' ${texts.map(shellQuote).join(' ')}`;
      const said = execFileSync('/bin/sh', ['-c', script], { encoding: 'utf8' });
      assert.deepEqual(said.split('\0').slice(0, -1), texts);
    }),
    { numRuns: 25 },
  );
});

test('plain words are not quoted', () => {
  assert.equal(shellQuote('--lr=0.1'), '--lr=0.1');
  assert.equal(shellQuote('data/train.tar.gz'), 'data/train.tar.gz');
});
