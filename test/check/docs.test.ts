import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ruleTable } from '../../src/check/check-facts.ts';

test('the page of checks has one row for each rule, with its family, level and sentence', async () => {
  const page = await readFile(path.join(import.meta.dirname, '..', '..', 'docs', 'check.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([\w-]+)` +\| (\w+) +\| (.*?) +\|$/gm)].map((row) => row.slice(1));
  assert.deepEqual(
    rows,
    ruleTable.map(({ name, level, about }) => [name, level, about]),
  );
});
