import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { allRules } from '../../src/adopt/lint.ts';
import { dagRules } from '../../src/dag/dag-rules.ts';

for (const [name, rules] of [
  ['submit-lint.md', allRules],
  ['dags.md', dagRules],
] as const)
  test(`${name} has one row for each rule, with its level and sentence`, async () => {
    const page = await readFile(path.join(import.meta.dirname, '..', '..', 'docs', name), 'utf8');
    const rows = [...page.matchAll(/^\| `([\w-]+)` +\| (\w+) +\| (.*?) +\|$/gm)].map((row) => row.slice(1));
    assert.deepEqual(
      rows,
      rules.map((rule) => [rule.name, rule.level, rule.about]),
    );
  });
