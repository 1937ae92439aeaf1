import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clip, wrapLines } from './text-table.ts';

test('cut text ends with an ellipsis, and characters are not split', () => {
  assert.deepEqual(
    [clip('abc', 3), clip('abcd', 3), clip('🚀🚀🚀', 2), clip('abc', 0)],
    ['abc', 'ab…', '🚀…', ''],
  );
});

test('messages break between words with a hanging indent, and a command to copy stays on one line', () => {
  const message = [
    'updraft: 1 of 4 jobs has no valid result',
    '  fix: `updraft why sweep` explains it, then try: updraft retry sweep',
    '  updraft report sweep-20261116 --html report.html',
    'in `a command that is longer than a line` break',
  ].join('\n');
  assert.equal(
    wrapLines(message, 28),
    `updraft: 1 of 4 jobs has no
  valid result
  fix: \`updraft why sweep\`
    explains it, then try:
    updraft retry sweep
  updraft report sweep-20261116 --html report.html
in \`a command that is longer
  than a line\` break`,
  );
  assert.equal(wrapLines(message, Number.POSITIVE_INFINITY), message);
});
