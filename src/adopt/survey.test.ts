import assert from 'node:assert/strict';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import type { SubmitFacts } from './submit-facts.ts';
import { filesMatching, folderBytes } from './bounded-walk.ts';
import { survey } from './survey.ts';

const limits = { title: '', inputBytes: 1, adviseBytes: 1, wantsProject: false, durationCategories: [] };
const surveyOf = (folder: string): Promise<SubmitFacts> =>
  survey({ file: path.join(folder, 'job.sub'), env: {}, now: new Date(0), limits });
const cpuMs = (start: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
};

test('the survey measures input folders up to a limit, and does not walk the folders of logs and output', async (t) => {
  const text = [
    'executable = run.sh',
    'error = /x.$(Cluster)',
    'log = /usr/job.log',
    'output = many/$(Process).out',
    'transfer_input_files = many, /usr',
    'queue 2',
  ].join('\n');
  const folder = await temporaryFolder(t, { 'job.sub': text });
  mkdirSync(path.join(folder, 'many'));
  for (let at = 0; at < 2500; at++) writeFileSync(path.join(folder, 'many', `${at}`), 'x');
  const start = process.cpuUsage();
  const { files } = await surveyOf(folder);
  assert.ok(cpuMs(start) < 600);
  assert.deepEqual(
    [files.get('/'), files.get('many')],
    [
      { kind: 'folder', bytes: 0 },
      { kind: 'folder', bytes: 2000 },
    ],
  );
});

test('patterns match as in a shell, in bounded time', async (t) => {
  const names = ['a.dat', 'b.dat', '.c.dat', 'sub/d.dat', 'sub/[x]', 'a'.repeat(200)];
  const folder = await temporaryFolder(t, Object.fromEntries(names.map((name) => [name, 'x'])));
  const found = (pattern: string, of: 'files' | 'dirs' | 'any' = 'any') =>
    filesMatching(folder, pattern, of, 100);
  assert.deepEqual(found('*.dat'), ['a.dat', 'b.dat']);
  assert.deepEqual(found('[!a].d?t', 'files'), ['b.dat']);
  assert.deepEqual(found('s*/*'), ['sub/[x]', 'sub/d.dat']);
  assert.deepEqual(found(String.raw`sub/\[x*`), ['sub/[x]']);
  assert.deepEqual(found('su[a-c]', 'dirs'), ['sub/']);
  assert.deepEqual(found(path.join(folder, 'sub', 'd.*')), [path.join(folder, 'sub', 'd.dat')]);
  assert.deepEqual(found('none/*'), []);
  assert.deepEqual(found(`${'a*'.repeat(40)}b`), []);
  assert.equal(filesMatching(folder, '*', 'any', 3), undefined);
  assert.equal(folderBytes(folder, { left: 2 }) <= 2, true);
});

const circles: Record<string, string> = {
  'an item that names its own macro': 'arguments = $(x) $(x)\nqueue x from (\n$(x)$(x)\n)',
  'an item that names the other': 'arguments = $(x)\nqueue x, y from (\n$(y)$(y) $(x)$(x)\n)',
  'a macro that doubles': `a = xx\n${'a = $(a)$(a)\n'.repeat(60)}queue`,
  'a function of itself': 'a = $INT(a)\narguments = $(a)\nqueue',
  'a circle': 'a = $(b)\nb = $(a)\narguments = $(a)\nqueue',
  'files that include each other': 'include : more.inc\ninclude : more.inc\nqueue',
  'many queue statements': 'queue\n'.repeat(5000),
};

test('macros that refer to themselves or grow are bounded and reported', async (t) => {
  for (const [name, text] of Object.entries(circles)) {
    const folder = await temporaryFolder(t, {
      'job.sub': `executable = run.sh\n${text}\n`,
      'more.inc': 'include : more.inc\ninclude : more.inc\n',
    });
    const start = process.cpuUsage();
    const { submission } = await surveyOf(folder);
    assert.ok(cpuMs(start) < 1500, name);
    assert.deepEqual(submission.problems.map(({ kind }) => kind).slice(-1), ['syntax'], name);
  }
});

test('odd numbers and widths do no harm', async (t) => {
  const text = [
    'executable = run.sh',
    'n = 1.5',
    's = x',
    'arguments = $REAL(n,%.999f) $STRING(s,%999999999s)',
    'output = $INT(n)',
    `queue ${'('.repeat(100_000)}`,
  ].join('\n');
  const folder = await temporaryFolder(t, { 'job.sub': text });
  const { submission } = await surveyOf(folder);
  assert.match(submission.problems[0]?.message ?? '', /is not a number of jobs/);
});

test('a pipe or device instead of a file is refused, not read', async (t) => {
  const folder = await temporaryFolder(t);
  symlinkSync('/dev/zero', path.join(folder, 'job.sub'));
  await assert.rejects(surveyOf(folder), /cannot be read: it is not a regular file/);
});
