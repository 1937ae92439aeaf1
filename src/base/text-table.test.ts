import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clip, textTable } from './text-table.ts';

test('columns are aligned, and columns that are empty in every row are left out', () => {
  const columns = [{ title: 'job' }, { title: 'empty' }, { title: 'n', align: 'right' as const }];
  assert.deepEqual(
    textTable(columns, [
      ['größe', '', '7'],
      ['b', '', '100'],
    ]),
    ['job      n', 'größe    7', 'b      100'],
  );
});

test('cut text ends with an ellipsis, and characters are not split', () => {
  assert.deepEqual(
    [clip('abc', 3), clip('abcd', 3), clip('🚀🚀🚀', 2), clip('abc', 0)],
    ['abc', 'ab…', '🚀…', ''],
  );
});
