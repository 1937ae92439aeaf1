import assert from 'node:assert/strict';
import { symlinkSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../temporary-folder.ts';
import { limitsAt } from '../../src/pool/htcondor.ts';
import { diskFiles, type SubmitFacts, surveyOnDisk } from '@updraft/htcondor/submit';
import { lintSubmission } from '@updraft/htcondor/lint';
import { filesMatching, survey } from '@updraft/htcondor/testing';

const limits = await limitsAt('htcondor');
const surveyOf = (folder: string): SubmitFacts =>
  surveyOnDisk({ file: path.join(folder, 'job.sub'), env: {}, now: new Date(0), limits });
const cpuMs = (start: NodeJS.CpuUsage): number => {
  const { user, system } = process.cpuUsage(start);
  return (user + system) / 1000;
};

test('only what the file names is looked up: no folder is listed', () => {
  const text = [
    'executable = run.sh',
    'error = /x.$(Cluster)',
    'log = /usr/job.log',
    'output = many/$(Process).out',
    'transfer_input_files = many, /usr, here/../data.tar',
    'queue 2',
  ].join('\n');
  const asked: string[] = [];
  const facts = survey({
    ...{ file: '/home/a/job.sub', text, env: {}, now: new Date(0), limits },
    files: {
      read: () => undefined,
      stat: (name) => {
        asked.push(name);
        return name === 'many' ? { kind: 'folder', bytes: 0 } : undefined;
      },
      list: () => assert.fail('nothing is listed'),
    },
  });
  assert.deepEqual(asked.sort(), ['.', '/', '/usr', 'data.tar', 'many', 'run.sh', 'run.sh']);
  assert.deepEqual([...facts.files.keys()], ['many']);
  const said = lintSubmission(facts).map(({ message }) => message);
  assert.ok(
    said.includes("2 jobs write `error` to /x.1: only the last one's output is kept"),
    said.join('\n'),
  );
});

test('patterns match as in a shell, in bounded time', async (t) => {
  const names = ['a.dat', 'b.dat', '.c.dat', 'sub/d.dat', 'sub/[x]', 'a'.repeat(200)];
  const folder = await temporaryFolder(t, Object.fromEntries(names.map((name) => [name, 'x'])));
  const found = (pattern: string, of: 'files' | 'dirs' | 'any' = 'any') =>
    filesMatching(diskFiles(folder), pattern, of);
  assert.deepEqual(found('*.dat'), ['a.dat', 'b.dat']);
  assert.deepEqual(found('[!a].d?t', 'files'), ['b.dat']);
  assert.deepEqual(found('s*/*'), ['sub/[x]', 'sub/d.dat']);
  assert.deepEqual(found(String.raw`sub/\[x*`), ['sub/[x]']);
  assert.deepEqual(found('su[a-c]', 'dirs'), ['sub/']);
  assert.deepEqual(found(path.join(folder, 'sub', 'd.*')), [path.join(folder, 'sub', 'd.dat')]);
  assert.deepEqual(found('none/*'), []);
  assert.deepEqual(found(`${'a*'.repeat(40)}b`), []);
  const many = {
    ...diskFiles(folder),
    list: () => Array.from({ length: 200_000 }, () => ({ name: 'a', isFolder: false })),
  };
  assert.equal(filesMatching(many, '*', 'any'), undefined);
});

const circles: Record<string, string> = {
  'an item that names its own macro': 'arguments = $(x) $(x)\nqueue x from (\n$(x)$(x)\n)',
  'an item that names the other': 'arguments = $(x)\nqueue x, y from (\n$(y)$(y) $(x)$(x)\n)',
  'a macro that doubles': `a = xx\n${'a = $(a)$(a)\n'.repeat(60)}queue`,
  'a function of itself': 'a = $INT(a)\narguments = $(a)\nqueue',
  'a circle': 'a = $(b)\nb = $(a)\narguments = $(a)\nqueue',
  'files that include each other': 'include : more.inc\ninclude : more.inc\nqueue',
};

test('macros that refer to themselves or grow are bounded and reported', async (t) => {
  for (const [name, text] of Object.entries(circles)) {
    const folder = await temporaryFolder(t, {
      'job.sub': `executable = run.sh\n${text}\n`,
      'more.inc': 'include : more.inc\ninclude : more.inc\n',
    });
    const start = process.cpuUsage();
    const { submission } = surveyOf(folder);
    assert.ok(cpuMs(start) < 1500, name);
    assert.deepEqual(submission.problems.map(({ kind }) => kind).slice(-1), ['syntax'], name);
  }
});

test('the jobs of any number of queue statements are counted', async (t) => {
  const folder = await temporaryFolder(t, { 'job.sub': `executable = run.sh\n${'queue 2\n'.repeat(5000)}` });
  const facts = surveyOf(folder);
  const { queues, problems } = facts.submission;
  assert.deepEqual([queues.length, queues.reduce((sum, { total = 0 }) => sum + total, 0)], [5000, 10_000]);
  assert.deepEqual(
    problems.map(({ kind, place }) => `${kind} ${place.line}`),
    ['missing 502'],
  );
  assert.ok(!lintSubmission(facts).some(({ rule }) => rule === 'syntax'));
});

test('conditions in require_gpus are checked like those of the commands for GPUs', async (t) => {
  const found: Record<string, string[]> = {};
  for (const condition of [
    'CUDADeviceName == "A100"',
    'DeviceName == "CUDACapability 8"',
    '(Capability > 99)',
    'ECCEnabled && GlobalMemoryMb >= 900000',
    'DriverVersion >= 535.1',
    'Capability >= 8.0 && GlobalMemoryMb >= 40000 && DriverVersion >= 12.1',
    'Capability < 99 || DeviceName == "x"',
  ]) {
    const text = `executable = /bin/true\nlog = a\nrequest_gpus = 1\nrequire_gpus = ${condition}\nqueue\n`;
    const findings = lintSubmission(surveyOf(await temporaryFolder(t, { 'job.sub': text })));
    found[condition] = findings.map(({ rule }) => rule).filter((rule) => rule.includes('gpu'));
  }
  assert.deepEqual(Object.values(found), [
    ['old-gpu-attributes'],
    [],
    ['gpu-nowhere'],
    ['gpu-nowhere'],
    ['gpu-nowhere'],
    [],
    [],
  ]);
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
  const { submission } = surveyOf(folder);
  assert.match(submission.problems[0]?.message ?? '', /is not a number of jobs/);
});

test('a pipe or device instead of a file is refused, not read', async (t) => {
  const folder = await temporaryFolder(t);
  symlinkSync('/dev/zero', path.join(folder, 'job.sub'));
  assert.throws(() => surveyOf(folder), /cannot be read: it is not a regular file/);
});

test('an attribute that a pool asks for, without its plus sign, is named as one', () => {
  const known = limits.attributesOfPools ?? [];
  assert.deepEqual([...known].sort(), ['GPUJobLength', 'JobDurationCategory', 'WantGPULab', 'is_resumable']);
  const names = [...known, 'want_gpulab', 'Want_Flocking', 'DESIRED_Sites', 'SingularityBindCWD'];
  const files = { read: () => undefined, stat: () => undefined, list: () => undefined };
  for (const name of names) {
    const text = ['executable = run.sh', `${name} = x`, 'queue'].join('\n');
    const facts = survey({ file: '/home/a/job.sub', text, files, env: {}, now: new Date(0), limits });
    const found = lintSubmission(facts).find(({ message }) => message.includes('is an attribute of the job'));
    assert.equal(found?.fix, `+${name} = x`);
  }
});

test('findings of one cause are one, with the first few values and how many more there are', async (t) => {
  const found = async (lines: readonly string[]) =>
    lintSubmission(
      surveyOf(await temporaryFolder(t, { 'job.sub': lines.join('\n'), 'run.sh': '#!/bin/sh\ntrue\n' })),
    );
  const queues = Array.from({ length: 40 }, (_, n) => [
    `output = o.${n}`,
    `transfer_input_files = in${n}.dat`,
    `arguments = $(gone${n})`,
    'queue',
  ]);
  const findings = await found([
    'executable = run.sh',
    'log = a.log',
    'should_transfer_files = YES',
    ...queues.flat(),
  ]);
  const of = (rule: string): string[] =>
    findings.filter((finding) => finding.rule === rule).map(({ message }) => message);
  assert.deepEqual(of('undefined-macro'), [
    '`$(gone0)` is not defined: HTCondor replaces it with nothing (likewise `$(gone1)`, `$(gone2)`, `$(gone3)` and 36 more; also at lines 10, 14, 18 and 36 more)',
  ]);
  assert.deepEqual(of('input-missing'), [
    'the input in0.dat does not exist: the job would be held with code 13 (likewise in1.dat, in2.dat, in3.dat and 36 more; also at lines 9, 13, 17 and 36 more)',
  ]);
  assert.deepEqual(of('fixed-names'), [
    '`output` has a fixed name: the next submission overwrites it (also at lines 8, 12, 16 and 36 more)',
  ]);
  const few = await found(['executable = run.sh', 'log = a.log', 'A = 1', 'B = 2', 'C = 3', 'queue']);
  assert.equal(few.filter(({ rule }) => rule === 'unused-name').length, 3, 'a few are apart');
  const misspelt = ['argumnets', 'outptu', 'erorr', 'requst_cpus', 'requst_disk', 'universee', 'priorty'];
  const wrong = await found(['executable = run.sh', ...misspelt.map((name) => `${name} = 1`), 'queue']);
  assert.equal(wrong.filter(({ rule }) => rule === 'unused-name').length, 7, 'different mistakes are apart');
  assert.deepEqual(findings.find(({ rule }) => rule === 'input-missing')?.alsoAt?.slice(0, 2), [9, 13]);
  const five = 'transfer_input_files = v 1.dat, v 2.dat, v 3.dat, v 4.dat, v 5.dat';
  const twice = await found(['executable = run.sh', five, 'queue', five, 'queue']);
  assert.deepEqual(
    twice.filter(({ rule }) => rule === 'input-missing').map(({ message }) => message),
    [
      'the input v 1.dat does not exist: the job would be held with code 13 (likewise v 2.dat, v 3.dat, v 4.dat, v 5.dat; also at line 4)',
    ],
    'a value may have spaces, and be at several places',
  );
  const inputs = await found(['executable = run.sh', 'transfer_input_files = a, bb, ccc, dd, e', 'queue']);
  assert.match(
    inputs.map(({ message }) => message).join('\n'),
    /\(likewise bb, ccc, dd, e\)/,
    'some are all named',
  );
});
