import assert from 'node:assert/strict';
import { chmod, readFile, truncate } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { allRules } from '../../src/adopt/lint.ts';
import { wrapperRules } from '../../src/adopt/rules/wrapper.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { linesIn, lintLines, withLines } from './advised-lines.ts';
import { type Corrected, corrected } from './corrected.ts';
import { type CondorSubmit, realCondorSubmit } from './condor-submit.ts';

/** Rules whose lines jobs on a pool prove, in advice.test.ts and advised-jobs.test.ts. */
const onPool = [
  'gpu-any',
  'gpu-condition-ignored',
  'gpu-nowhere',
  'old-gpu-attributes',
  'command-as-attribute',
  'odd-resource',
  'odd-amount',
  'transfer-if-needed',
  'hidden-retries',
  'no-image',
  'singularity-image',
  'docker-universe',
  'no-log',
  'jobs-overwrite',
  'results-overwrite',
  'no-outputs',
  'flat-path',
  'endless-release',
  'never-true',
  'endless-restart',
  'evicted-output',
  'checkpoint-without-files',
  'checkpoint-without-code',
  'checkpoint-slash',
  'worth-adding',
];

/** Rules whose advice is no submit line. */
const exceptions: Record<string, string> = {
  syntax: 'only its author knows what the line should be',
  encoding: 'a command for the shell',
  'no-item-list': 'a file must be written',
  'blank-item': 'lines of a list must be deleted',
  'no-jobs': 'a file, a pattern or a count must be corrected',
  'not-read': 'nothing is known to be wrong',
  'folder-missing': 'a command for the shell',
  'initialdir-missing': 'a command for the shell',
  'other-folder': 'a command for the shell',
  'url-secret': 'the access point must have a service for tokens',
  'url-query': 'the name that the training reads must be changed',
  'mutable-object': 'the object must be published under another name',
  'checkpoint-unreachable': 'the script must be changed',
};

const ofScripts = wrapperRules.map(({ name }) => name);

test('the advice of every rule is proven, or excepted for a reason', () => {
  // Jobs prove a rule once; what condor_submit makes of its lines is proven for other spellings too.
  const proven = new Set([...Object.keys(corrected), ...onPool]);
  const known = [...proven, ...Object.keys(exceptions), ...ofScripts];
  const names = allRules.map(({ name }) => name);
  assert.deepEqual(known.toSorted(), names.toSorted(), 'prove the lines that a new rule advises');
});

test('jobs on a pool prove what the others advise', async () => {
  const files = ['advice.test.ts', 'advised-jobs.test.ts'];
  const texts = files.map((file) => readFile(path.join(import.meta.dirname, file), 'utf8'));
  const text = (await Promise.all(texts)).join('\n');
  assert.deepEqual(
    onPool.filter((rule) => !text.includes(`'${rule}'`)),
    [],
  );
});

test('HTCondor accepts every file that follows the advice, and the rule is content', async (t) => {
  const condor = await realCondorSubmit(t);
  if (condor === undefined) return;
  const texts = { 'train.sh': '#!/bin/sh\n', 'key.txt': '', 'key.sif': '', 'more.txt': '', 'large.tar': '' };
  const folder = await temporaryFolder(t, texts);
  await chmod(path.join(folder, 'train.sh'), 0o755);
  await truncate(path.join(folder, 'large.tar'), 2e9);
  for (const [rule, files] of Object.entries(corrected))
    await t.test(rule, async () => {
      for (const file of files) await follow(condor, folder, rule, file);
    });
});

async function follow(
  condor: CondorSubmit,
  folder: string,
  rule: string,
  { wrong, without, right, says, ad = {}, ...where }: Corrected,
): Promise<void> {
  const program = rule === 'executable-missing' ? [] : ['executable = train.sh'];
  const hasQueue = rule === 'no-queue' || wrong.includes('queue');
  const lines = [...program, ...wrong, ...(hasQueue ? [] : ['queue'])];
  const found = (await lintLines(folder, lines, where)).filter((finding) => finding.rule === rule);
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
  const left = (await lintLines(folder, better, where)).filter((finding) => finding.rule === rule);
  assert.deepEqual(left, [], shown);
  const { ads, said, status } = condor.dryRun(folder, 'job.sub');
  assert.equal(status, 0, `${shown}\n${said}`);
  assert.equal(said.replace('** Proc 1.0:', '').trim(), '', shown);
  for (const [name, value] of Object.entries(ad)) assert.match(ads[0]?.[name] ?? '', value, shown);
}
