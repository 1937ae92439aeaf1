import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { splitArguments, BadQuoting, splitEnvironment } from './split-arguments.ts';

/** The new syntax for any words, by its rules. */
const quoted = (words: readonly string[]): string =>
  `"${words
    .map((word) => `'${word.replaceAll("'", "''")}'`)
    .join(' ')
    .replaceAll('"', '""')}"`;

test('the new syntax groups by single quotes and doubles what it means literally', () => {
  assert.deepEqual(splitArguments(`"one 'two with spaces' ""three"" 'it''s' a'b c'd ''"`), [
    'one',
    'two with spaces',
    '"three"',
    "it's",
    'ab cd',
    '',
  ]);
});

test('the old syntax knows blanks and escaped double quotes only', () => {
  assert.deepEqual(splitArguments(String.raw`a 'b  c' \"d\" e\f`), ['a', "'b", "c'", '"d"', String.raw`e\f`]);
  assert.deepEqual(splitArguments('  '), []);
});

test('both syntaxes of environments', () => {
  assert.deepEqual(splitEnvironment(`"A=1 B='x y' C=""q"""`), ['A=1', 'B=x y', 'C="q"']);
  assert.deepEqual(splitEnvironment('A=1; B=x y;;C='), ['A=1', 'B=x y', 'C=']);
});

test('what HTCondor refuses is refused', () => {
  for (const value of ['"open', '"a "b" c"', '"it\'s"', 'say "hi"'])
    assert.throws(() => splitArguments(value), BadQuoting, value);
});

test('any words survive the new syntax', () => {
  const word = fc.string({ unit: fc.constantFrom('a', ' ', "'", '"', '\\', '$', '\t', 'ü', ';', '=') });
  fc.assert(fc.property(fc.array(word), (words) => assert.deepEqual(splitArguments(quoted(words)), words)));
});
