import assert from 'node:assert/strict';
import { chmod, readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { allRules, wrapperRules } from '@updraft/htcondor/testing';
import { temporaryFolder } from '../temporary-folder.ts';
import { linesIn, lintLines, withLines } from './advised-lines.ts';
import { type Corrected, corrected } from './corrected.ts';
import { type CondorSubmit, realCondorSubmit } from './condor-submit.ts';
import { everyday } from './troubles/all.ts';
import { aboutLargeInput } from './troubles/large-input.ts';
import { aboutPoolLines } from './troubles/pool-lines.ts';

/** Rules whose lines need more than a table, in advice.test.ts and advice-at-work.test.ts. */
const ownTests = [
  'endless-release',
  'never-true',
  'streamed-output',
  'log-in-tmp',
  'mutable-image',
  'evicted-output',
  'checkpoint-without-files',
  'checkpoint-without-code',
  'checkpoint-slash',
];

/** Rules whose advice is no submit line. */
const exceptions: Record<string, string> = {
  syntax: 'only its author knows what the line should be',
  encoding: 'a command for the shell',
  'no-item-list': 'a file must be written',
  'no-queue': 'HTCondor 25 queues one job, and the pool has no earlier version, which queues none',
  'blank-item': 'lines of a list must be deleted',
  'not-read': 'nothing is known to be wrong',
  'folder-missing': 'a command for the shell',
  'other-folder': 'a command for the shell',
  'url-secret': 'the access point must have a service for tokens',
  'mutable-object': 'the object must be published under another name',
  'checkpoint-unreachable': 'the script must be changed',
};

const ofScripts = wrapperRules.map(({ name }) => name);

test('the advice of every rule is proven, or excepted for a reason', () => {
  const federated = { lines: [], files: {}, url: '' };
  const tables = [...everyday('image'), ...aboutLargeInput(federated), ...aboutPoolLines];
  const inTables = tables.map(({ rule }) => rule);
  const proven = new Set([...inTables, ...ownTests]);
  const known = [...proven, ...Object.keys(exceptions), ...ofScripts];
  const names = allRules.map(({ name }) => name);
  assert.deepEqual(known.toSorted(), names.toSorted(), 'prove the lines that a new rule advises');
});

test('jobs on a pool prove what the others advise', async () => {
  const files = ['advice.test.ts', 'advice-at-work.test.ts'];
  const texts = files.map((file) => readFile(path.join(import.meta.dirname, file), 'utf8'));
  const text = (await Promise.all(texts)).join('\n');
  assert.deepEqual(
    ownTests.filter((rule) => !text.includes(`'${rule}'`)),
    [],
  );
});

test('HTCondor reads other spellings as advised, too, and the rule is content', async (t) => {
  const condor = await realCondorSubmit(t);
  if (condor === undefined) return;
  const texts = { 'train.sh': '#!/bin/sh\n', 'key.sif': '' };
  const folder = await temporaryFolder(t, texts);
  await chmod(path.join(folder, 'train.sh'), 0o755);
  for (const [rule, files] of Object.entries(corrected))
    await t.test(rule, async () => {
      for (const file of files) await follow(condor, folder, rule, file);
    });
});

async function follow(
  condor: CondorSubmit,
  folder: string,
  rule: string,
  { wrong, without, right, says, ad = {} }: Corrected,
): Promise<void> {
  const lines = ['executable = train.sh', ...wrong, 'queue'];
  const found = (await lintLines(folder, lines)).filter((finding) => finding.rule === rule);
  assert.notEqual(found.length, 0, `${rule} does not find ${wrong.join('; ')}`);
  const before = condor.dryRun(folder, 'job.sub');
  const isRead = Object.entries(ad).every(([name, value]) => value.test(before.ads[0]?.[name] ?? ''));
  // The trouble is there before: condor_submit refuses the file, or reads it otherwise.
  if (Object.keys(ad).length > 0)
    assert.ok(before.status !== 0 || !isRead, `no trouble: ${wrong.join('; ')}`);
  assert.match(before.said.trim(), says?.condor ?? /^/, wrong.join('; '));
  assert.match(found.map(({ message, fix }) => `${message} ${fix}`).join('\n'), says?.finding ?? /^/);
  const fixes = found.map(({ fix }) => fix);
  const kept = without === undefined ? lines : lines.filter((line) => !without.test(line));
  const better = right?.(kept, fixes.join('\n')) ?? withLines(kept, fixes.flatMap(linesIn));
  const shown = better.join('\n');
  const left = (await lintLines(folder, better)).filter((finding) => finding.rule === rule);
  assert.deepEqual(left, [], shown);
  const { ads, said, status } = condor.dryRun(folder, 'job.sub');
  assert.equal(status, 0, `${shown}\n${said}`);
  assert.equal(said.replace('** Proc 1.0:', '').trim(), '', shown);
  for (const [name, value] of Object.entries(ad)) assert.match(ads[0]?.[name] ?? '', value, shown);
}
