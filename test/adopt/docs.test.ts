import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { allRules, dagRules } from '@updraft/htcondor/testing';
import { temporaryFolder } from '../temporary-folder.ts';
import { lintLines } from './advised-lines.ts';

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

test('submit-lint.md names every key of a finding in JSON', async (t) => {
  const folder = await temporaryFolder(t);
  const twice = ['executable = /bin/true', 'n = 1', 'queue', 'n = 2', 'queue'];
  const findings = await lintLines(folder, twice);
  const keys = new Set(findings.flatMap((finding) => Object.keys(finding)));
  assert.ok(keys.has('alsoAt'), JSON.stringify(findings));
  const page = await readFile(path.join(import.meta.dirname, '../../docs/submit-lint.md'), 'utf8');
  const [, named = ''] = /`findings` \((.*?)\), `condor`/s.exec(page) ?? [];
  assert.deepEqual(
    [...keys].filter((key) => !named.includes(`\`${key}\``)),
    [],
  );
});
