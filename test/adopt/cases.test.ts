import assert from 'node:assert/strict';
import { cp, readdir, readFile, truncate, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { surveyOnDisk } from '@updraft/htcondor/submit';
import type { Finding } from '@updraft/base';
import { allRules } from '@updraft/htcondor/testing';
import { lintSubmission } from '@updraft/htcondor/lint';
import { limitsAt } from '../../src/pool/htcondor.ts';
import { temporaryFolder } from '../temporary-folder.ts';

interface Case {
  /** The submit file; `job.sub` where it is left out. */
  file?: string;
  pool?: string;
  /** Files too large to keep here, with their sizes in bytes: created sparse. */
  sizes?: Record<string, number>;
}

const here = import.meta.dirname;
const entries = await readdir(here, { withFileTypes: true });
const folders = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
const names = folders.filter((name) => name !== 'troubles');
const found = new Map<string, Finding[]>();

const readJson = async (file: string): Promise<unknown> =>
  JSON.parse(await readFile(file, 'utf8').catch(() => '{}'));

for (const name of names)
  test(`${name}: has exactly the expected findings, at their lines`, async (t) => {
    const folder = await temporaryFolder(t);
    await cp(path.join(here, name), folder, { recursive: true });
    const {
      file: submitFile = 'job.sub',
      pool = 'htcondor',
      sizes = {},
    } = (await readJson(path.join(folder, 'case.json'))) as Case;
    for (const [file, bytes] of Object.entries(sizes)) {
      await writeFile(path.join(folder, file), '');
      await truncate(path.join(folder, file), bytes);
    }
    const evidence = surveyOnDisk({
      file: path.join(folder, submitFile),
      env: { HOME: '/home/tester' },
      now: new Date('2026-11-15T00:00:00Z'),
      limits: await limitsAt(pool),
    });
    const findings = lintSubmission(evidence);
    found.set(name, findings);
    const shown = findings.map(({ rule, level, file, line }) => `${level} ${rule} ${file}:${line}`).sort();
    assert.deepEqual(shown, await readJson(path.join(here, name, 'expected.json')));
    for (const { message, fix } of findings) {
      assert.ok(message.length > 20 && fix.length > 3, `${message} | ${fix}`);
      assert.doesNotMatch(message + fix, /undefined|NaN|SECRET/);
      // Words and a line to write are never on one line.
      for (const line of fix.replaceAll(/`[^`]*`/g, '').split('\n'))
        assert.doesNotMatch(line, /^(?!\+?\w+ = ).* = /, fix);
    }
  });

test('every rule applies in some case and not in another', () => {
  for (const { name: rule } of allRules) {
    const hits = names.filter((name) => found.get(name)?.some((finding) => finding.rule === rule));
    assert.ok(hits.length > 0, `no case hits the rule ${rule}`);
    assert.ok(hits.length < names.length, `every case hits the rule ${rule}`);
  }
});
