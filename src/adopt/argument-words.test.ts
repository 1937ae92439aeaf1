import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { argumentWords, BadQuoting, environmentWords } from './argument-words.ts';

/** The new syntax for any words, by its rules. */
const quoted = (words: readonly string[]): string =>
  `"${words
    .map((word) => `'${word.replaceAll("'", "''")}'`)
    .join(' ')
    .replaceAll('"', '""')}"`;

test('the new syntax groups by single quotes and doubles what it means literally', () => {
  assert.deepEqual(argumentWords(`"one 'two with spaces' ""three"" 'it''s' a'b c'd ''"`), [
    'one',
    'two with spaces',
    '"three"',
    "it's",
    'ab cd',
    '',
  ]);
});

test('the old syntax knows blanks and escaped double quotes only', () => {
  assert.deepEqual(argumentWords(String.raw`a 'b  c' \"d\" e\f`), ['a', "'b", "c'", '"d"', String.raw`e\f`]);
  assert.deepEqual(argumentWords('  '), []);
});

test('both syntaxes of environments', () => {
  assert.deepEqual(environmentWords(`"A=1 B='x y' C=""q"""`), ['A=1', 'B=x y', 'C="q"']);
  assert.deepEqual(environmentWords('A=1; B=x y;;C='), ['A=1', 'B=x y', 'C=']);
});

test('what HTCondor refuses is refused', () => {
  for (const value of ['"open', '"a "b" c"', '"it\'s"', 'say "hi"'])
    assert.throws(() => argumentWords(value), BadQuoting, value);
});

test('any words survive the new syntax', () => {
  const word = fc.string({ unit: fc.constantFrom('a', ' ', "'", '"', '\\', '$', '\t', 'ü', ';', '=') });
  fc.assert(fc.property(fc.array(word), (words) => assert.deepEqual(argumentWords(quoted(words)), words)));
});
