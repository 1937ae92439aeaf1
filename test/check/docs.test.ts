import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ruleTable } from '../../src/check/check-facts.ts';

test('docs/check.md has a row for each rule, with its level and description', async () => {
  const page = await readFile(path.join(import.meta.dirname, '..', '..', 'docs', 'check.md'), 'utf8');
  const rows = [...page.matchAll(/^\| `([\w-]+)` +\| (\w+) +\| (.*?) +\|$/gm)].map((row) => row.slice(1));
  assert.deepEqual(
    rows,
    ruleTable.map(({ name, level, about }) => [name, level, about]),
  );
});
