import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { needProgram } from '../servers/debian-packages.ts';
import { cases } from './cases.ts';
import { differences } from './differences.ts';
import { compare, compareXz, type Comparison } from './differential.ts';

/** Folders of archives that others keep, one for each suite; the README says where they come from. */
const suites = process.env['UPDRAFT_ARCHIVE_SUITES'];

test('every archive of ours is accepted or refused as bsdtar does, with the same tree, or it is said why not', async (t) => {
  const bsdtar = needProgram(t, 'bsdtar', ['libarchive-tools']);
  if (bsdtar === undefined) return;
  const folder = mkdtempSync(path.join(tmpdir(), 'updraft-cases-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const found: Comparison[] = [];
  for (const [i, { name, bytes, mode, expect, limits }] of cases.entries()) {
    // What is asked of the unpacker besides is not asked of bsdtar.
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
    'differences that no archive shows any more',
  );
});

test(
  'the suites of other programs are unpacked as bsdtar does, or it is said why not',
  { skip: suites === undefined && 'UPDRAFT_ARCHIVE_SUITES names no folder of suites' },
  async (t) => {
    const bsdtar = needProgram(t, 'bsdtar', ['libarchive-tools']);
    if (bsdtar === undefined || suites === undefined) return;
    for (const suite of readdirSync(suites)) {
      const found: Comparison[] = [];
      for (const name of readdirSync(path.join(suites, suite))) {
        const file = path.join(suites, suite, name);
        if (!statSync(file).isFile()) continue;
        const bytes = readFileSync(file);
        const shown = `${suite}/${name}`;
        found.push(
          suite === 'xz' ? await compareXz(shown, bytes) : await compare(shown, bytes, file, bsdtar),
        );
      }
      t.diagnostic(suite);
      report(found, t.diagnostic.bind(t));
    }
  },
);

function report(found: Comparison[], say: (line: string) => void): void {
  const count = (result: Comparison['result']): number => found.filter((one) => one.result === result).length;
  say(
    `${found.length} archives: ${count('same')} the same, ${count('ours-refuses')} refused by us alone, ` +
      `${count('theirs-refuses')} by bsdtar alone, ${count('trees-differ')} with other trees`,
  );
  const unexplained = found.filter(({ result, reason }) => result !== 'same' && reason === undefined);
  assert.deepEqual(
    unexplained.map(({ name, result, detail }) => `${result}: ${name}: ${detail}`),
    [],
  );
}
