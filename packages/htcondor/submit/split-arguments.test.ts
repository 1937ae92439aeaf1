import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { splitArguments, BadQuoting, splitEnvironment } from './split-arguments.ts';

/** Any words in the new syntax. */
const quoted = (words: readonly string[]): string =>
  `"${words
    .map((word) => `'${word.replaceAll("'", "''")}'`)
    .join(' ')
    .replaceAll('"', '""')}"`;

test('the new syntax groups with single quotes, and doubled quotes are literal', () => {
  assert.deepEqual(splitArguments(`"one 'two with spaces' ""three"" 'it''s' a'b c'd ''"`), [
    'one',
    'two with spaces',
    '"three"',
    "it's",
    'ab cd',
    '',
  ]);
});

test('the old syntax has only blanks and escaped double quotes', () => {
  assert.deepEqual(splitArguments(String.raw`a 'b  c' \"d\" e\f`), ['a', "'b", "c'", '"d"', String.raw`e\f`]);
  assert.deepEqual(splitArguments('  '), []);
});

test('environments are split in both syntaxes', () => {
  assert.deepEqual(splitEnvironment(`"A=1 B='x y' C=""q"""`), ['A=1', 'B=x y', 'C="q"']);
  assert.deepEqual(splitEnvironment('A=1; B=x y;;C='), ['A=1', 'B=x y', 'C=']);
});

test('an environment may begin with its own separator, and each part must name a variable', () => {
  assert.deepEqual(splitEnvironment('|A=1|B=x;y'), ['A=1', 'B=x;y']);
  assert.deepEqual(splitEnvironment('A=1;$$(B)'), ['A=1', '$$(B)']);
  for (const value of ['${Environment}', '"${A}"', 'A', '"A=1 B"', '=3', 'A=1;B'])
    assert.throws(() => splitEnvironment(value), BadQuoting, value);
});

test('invalid quoting is refused', () => {
  for (const value of ['"open', '"a "b" c"', '"it\'s"', 'say "hi"'])
    assert.throws(() => splitArguments(value), BadQuoting, value);
});

test('any words survive the new syntax', () => {
  const word = fc.string({ unit: fc.constantFrom('a', ' ', "'", '"', '\\', '$', '\t', 'ü', ';', '=') });
  fc.assert(fc.property(fc.array(word), (words) => assert.deepEqual(splitArguments(quoted(words)), words)));
});
