import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../temporary-folder.ts';
import { lintLines } from './advised-lines.ts';

const head = ['executable = run.sh', 'log = a.log'];

test('a restart is endless only if nothing else ends the job', async (t) => {
  const folder = await temporaryFolder(t, { 'run.sh': '#!/bin/sh\n' });
  const fixOf = async (...lines: string[]): Promise<string | undefined> =>
    (await lintLines(folder, [...head, ...lines, 'queue'])).find(({ rule }) => rule === 'endless-restart')
      ?.fix;
  const endless = 'on_exit_remove = ExitCode == 0';
  assert.equal(await fixOf(endless), 'on_exit_remove = (ExitCode == 0) || NumJobCompletions > 3');
  assert.equal(await fixOf('on_exit_remove = False'), await fixOf(endless));
  assert.equal(await fixOf(endless, 'on_exit_hold = false'), await fixOf(endless));
  const ended = [
    [endless, 'max_retries = 3'],
    [endless, 'on_exit_hold = ExitCode != 0'],
    [endless, 'periodic_remove = NumJobStarts > 5'],
    ['on_exit_remove = RemoteWallClockTime > 3600 || ExitCode == 0'],
    ['on_exit_remove = (CurrentTime - QDate > 3600) || ExitCode == 0'],
    ['on_exit_remove = 1'],
  ];
  for (const lines of ended) assert.equal(await fixOf(...lines), undefined, lines.join('; '));
});

test('a script of any language with Windows line ends is an error', async (t) => {
  const folder = await temporaryFolder(t, { 'run.py': '#!/usr/bin/env python3\r\nx = 1 + \\ \r\n' });
  const found = await lintLines(folder, ['executable = run.py', 'log = a.log', 'queue']);
  const errors = found.filter(({ level }) => level === 'error');
  assert.deepEqual(
    errors.map(({ rule, file, line }) => [rule, file, line]),
    [['windows-lines', 'run.py', 1]],
  );
});

test('names by chance or by machine, labels of virtual machines and shared files are no sure errors', async (t) => {
  const folder = await temporaryFolder(t, { 'run.sh': '#!/bin/sh\ncat "$1"\n' });
  await chmod(path.join(folder, 'run.sh'), 0o755);
  await mkdir(path.join(folder, 'data'));
  await writeFile(path.join(folder, 'data', 'in.txt'), '');
  const errors = async (...lines: string[]): Promise<string[]> =>
    (await lintLines(folder, lines)).flatMap(({ rule, level }) => (level === 'error' ? rule : []));
  const moved = ['should_transfer_files = YES'];
  assert.deepEqual(await errors(...head, 'output = o.txt', 'queue 3'), ['jobs-overwrite']);
  assert.deepEqual(await errors(...head, 'output = o.$RANDOM_INTEGER(1,1000)', 'queue 3'), []);
  assert.deepEqual(await errors(...head, 'output = o.$$(Name)', 'queue 3'), []);
  assert.deepEqual(
    await errors(...head, ...moved, 'transfer_output_files = out.$$(Name).txt', 'queue 3'),
    [],
  );
  const bare = ['executable = bare.sh', 'log = a.log', 'docker_image = a/b:1', 'queue'];
  await writeFile(path.join(folder, 'bare.sh'), 'echo 1\n');
  await chmod(path.join(folder, 'bare.sh'), 0o755);
  assert.deepEqual(await errors('universe = docker', ...bare), []);
  assert.deepEqual(await errors(...bare.filter((line) => !line.startsWith('docker'))), ['no-interpreter']);
  const machine = ['universe = vm', 'vm_type = kvm', 'vm_memory = 100', 'vm_disk = a.img:w:hda'];
  assert.deepEqual(await errors(...machine, 'executable = label', 'log = a.log', 'queue'), []);
  const flat = [...head, 'transfer_input_files = data/in.txt', 'arguments = data/in.txt'];
  assert.deepEqual(await errors(...flat, 'queue'), []);
  assert.deepEqual(await errors(...flat, ...moved, 'queue'), ['flat-path']);
});

test('a tilde is reported once, by its own rule', async (t) => {
  const folder = await temporaryFolder(t, { 'run.sh': '#!/bin/sh\n' });
  const lines = [
    'container_image = ~/a.sif',
    'input = ~/in.txt',
    'initialdir = ~/runs',
    'transfer_input_files = a.txt, ~/b.txt',
    'output = ~/out.$(Cluster)',
  ];
  const found = await lintLines(folder, [...head, ...lines, 'queue']);
  assert.deepEqual(
    found.flatMap(({ rule, level, fix }) =>
      level === 'note' || rule === 'worth-adding' ? [] : [[rule, level, fix]],
    ),
    [
      ['tilde', 'error', 'container_image = $ENV(HOME)/a.sif'],
      ['tilde', 'error', 'input = $ENV(HOME)/in.txt'],
      ['tilde', 'error', 'initialdir = $ENV(HOME)/runs'],
      ['tilde', 'error', 'transfer_input_files = a.txt, $ENV(HOME)/b.txt'],
      ['tilde', 'warning', 'output = $ENV(HOME)/out.$(Cluster)'],
    ],
  );
});

test('amounts are not rounded down, and only slips of the keys get a suggestion', async (t) => {
  const folder = await temporaryFolder(t, { 'run.sh': '#!/bin/sh\n' });
  const fixes = async (line: string, rule: string): Promise<string> =>
    (await lintLines(folder, [...head, line, 'queue'])).find((one) => one.rule === rule)?.fix ?? '';
  assert.match(await fixes('request_disk = 5500000', 'no-units'), /\nrequest_disk = 5500000 KB$/);
  assert.match(await fixes('request_disk = 5242880', 'no-units'), /\nrequest_disk = 5 GB$/);
  assert.match(await fixes('transfer_ouput_files = a', 'unused-name'), /`transfer_output_files`/);
  for (const name of [
    'wantcorefile',
    'copy_to_spool',
    'transfer_files',
    'when_to_transfer_files',
    'iterator',
  ])
    assert.match(await fixes(`${name} = a`, 'unused-name'), /^remove it/, name);
});
