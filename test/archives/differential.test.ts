import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { needProgram } from '../servers/debian-packages.ts';
import { cases } from './cases.ts';
import { differences } from './differences.ts';
import { compare, type Comparison } from './differential.ts';

/** Folders with archives of other programs, one per suite; the README says where they come from. */
const suites = process.env['UPDRAFT_ARCHIVE_SUITES'];

test('each of our cases is accepted or refused as by bsdtar, with the same tree, or the difference is listed', async (t) => {
  const bsdtar = needProgram(t, 'bsdtar', ['libarchive-tools']);
  if (bsdtar === undefined) return;
  const folder = mkdtempSync(path.join(tmpdir(), 'updraft-cases-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const found: Comparison[] = [];
  for (const [i, { name, bytes, mode, expect, limits }] of cases.entries()) {
    // bsdtar has no such options.
    if (expect !== undefined || limits !== undefined || (mode !== undefined && mode !== 'auto')) continue;
    const file = path.join(folder, `${i}`);
    writeFileSync(file, bytes);
    found.push(await compare(`ours/${name}`, bytes, file, bsdtar));
  }
  report(found, t.diagnostic.bind(t));
  const unused = differences.filter(
    ({ about, isOurs }) => isOurs && !found.some((one) => about.test(`${one.name}: ${one.detail}`)),
  );
  assert.deepEqual(
    unused.map(({ reason }) => reason),
    [],
    'listed differences that no case shows',
  );
});

test(
  'the suites of other programs are unpacked as by bsdtar, or the difference is listed',
  { skip: suites === undefined && 'UPDRAFT_ARCHIVE_SUITES is not set' },
  async (t) => {
    const bsdtar = needProgram(t, 'bsdtar', ['libarchive-tools']);
    if (bsdtar === undefined || suites === undefined) return;
    for (const suite of readdirSync(suites)) {
      const found: Comparison[] = [];
      for (const name of readdirSync(path.join(suites, suite))) {
        const file = path.join(suites, suite, name);
        if (!statSync(file).isFile()) continue;
        const bytes = readFileSync(file);
        found.push(await compare(`${suite}/${name}`, bytes, file, bsdtar));
      }
      t.diagnostic(suite);
      report(found, t.diagnostic.bind(t));
    }
  },
);

function report(found: Comparison[], say: (line: string) => void): void {
  const count = (result: Comparison['result']): number => found.filter((one) => one.result === result).length;
  say(
    `${found.length} archives: ${count('same')} the same, ${count('ours-refuses')} refused only by us, ` +
      `${count('theirs-refuses')} only by bsdtar, ${count('trees-differ')} with different trees`,
  );
  const unexplained = found.filter(({ result, reason }) => result !== 'same' && reason === undefined);
  assert.deepEqual(
    unexplained.map(({ name, result, detail }) => `${result}: ${name}: ${detail}`),
    [],
  );
}
