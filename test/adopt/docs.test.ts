import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { allRules } from '../../src/adopt/lint.ts';

test('the page of rules has one row for each rule, with its level and sentence', async () => {
  const page = await readFile(path.join(import.meta.dirname, '..', '..', 'docs', 'submit-lint.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([\w-]+)` +\| (\w+) +\| (.*?) +\|$/gm)].map((row) => row.slice(1));
  assert.deepEqual(
    rows,
    allRules.map(({ name, level, about }) => [name, level, about]),
  );
});
