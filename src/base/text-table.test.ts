import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clip, textTable } from './text-table.ts';

test('a table lines up, and leaves out columns that are empty in every row', () => {
  const columns = [{ title: 'job' }, { title: 'empty' }, { title: 'n', align: 'right' as const }];
  assert.deepEqual(
    textTable(columns, [
      ['größe', '', '7'],
      ['b', '', '100'],
    ]),
    ['job      n', 'größe    7', 'b      100'],
  );
});

test('what is cut off is shown as cut off, and characters stay whole', () => {
  assert.deepEqual(
    [clip('abc', 3), clip('abcd', 3), clip('🚀🚀🚀', 2), clip('abc', 0)],
    ['abc', 'ab…', '🚀…', ''],
  );
});
