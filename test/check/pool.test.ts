import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { Finding } from '@updraft/base';
import { Fault } from '@updraft/account/fault';
import * as check from '../../src/cli/commands/check.ts';
import { runCommand } from '../cli/run-command.ts';
import { makeImage, uncompressed } from '../condor/make-image.ts';
import { testPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';

interface Answer {
  findings: Finding[];
  looked: { what: string; said: string }[];
  unchecked: { what: string; why: string }[];
}

const job = (more: string, command = 'cat x > out') =>
  `name = "x"\n[train]\ncommand = "${command}"\noutputs = ["out"]\n${more}[run]\npool = "condor"\n`;

/** Checks a job file at the access point of a real pool; skips the test and returns undefined if there is none. */
async function checked(
  t: TestContext,
  files: Record<string, string>,
  prepare?: (folder: string, bin: string) => Promise<void>,
): Promise<Answer | undefined> {
  const pool = await testPool(t);
  if (pool === undefined) return undefined;
  const cwd = await temporaryFolder(t, files);
  await prepare?.(cwd, pool.bin);
  const env = { PATH: `${pool.bin}:/usr/bin:/bin`, HOME: cwd };
  let out = '';
  await runCommand(check, ['--json'], { cwd, env, out: (text) => void (out += text) }).catch(
    (error: unknown) => {
      if (!(error instanceof Fault) || error.kind !== 'file-invalid') throw error;
    },
  );
  return JSON.parse(out) as Answer;
}

const machines = ({ looked }: Answer): string | undefined =>
  looked.find(({ what }) => what === 'machines of the pool')?.said;

test('a small job matches every machine of the pool', async (t) => {
  const answer = await checked(t, { 'updraft.toml': job('[resources]\nmemory = "1 GB"\ndisk = "2 GB"\n') });
  if (answer === undefined) return;
  assert.match(machines(answer) ?? JSON.stringify(answer.unchecked), /^3 of 3 match/);
  assert.deepEqual(answer.findings, []);
});

test('requirements that HTCondor cannot parse are an error, not an unreachable pool', async (t) => {
  const answer = await checked(t, { 'updraft.toml': `${job('')}requirements = 'Memory > (1'\n` });
  if (answer === undefined) return;
  const wrong = answer.findings.filter(({ level }) => level === 'error');
  assert.deepEqual(
    wrong.map(({ rule, line }) => [rule, line]),
    [['requirements-invalid', 7]],
  );
});

test('HTCondor itself evaluates the conditions of a job', async (t) => {
  const resources = '[resources]\ngpus = 1\ngpu = { capability = 7.5, memory = "20 GB" }\nmemory = "2 GB"\n';
  const answer = await checked(t, { 'updraft.toml': job(resources) });
  if (answer === undefined) return;
  assert.match(machines(answer) ?? JSON.stringify(answer.unchecked), /^1 of 3 match/);
});

test('a job that no machine can run is an error at the line of the condition', async (t) => {
  const answer = await checked(t, { 'updraft.toml': job('[resources]\nmemory = "64 GB"\ncpus = 2\n') });
  if (answer === undefined) return;
  const [only] = answer.findings;
  assert.deepEqual([only?.rule, only?.level, only?.line], ['no-slot', 'error', 6]);
  assert.equal(only?.fix, 'without `memory = 64 GB`, 3 would match');
});

test('processes, one for each GPU, need one machine with all of these GPUs', async (t) => {
  const resources = 'processes = "gpus"\n[resources]\nmemory = "1 GB"\ncpus = 1\ngpus = 9\n';
  const answer = await checked(t, { 'updraft.toml': job(resources) });
  if (answer === undefined) return;
  const only = answer.findings.find(({ rule }) => rule === 'no-slot');
  assert.deepEqual([only?.level, only?.line], ['error', 9], JSON.stringify(answer));
  assert.equal(only?.fix, 'without `gpus = 9`, 3 would match');
});

test("the user's own requirements are evaluated, too", async (t) => {
  const text = job('').replace(
    'pool = "condor"',
    `pool = "condor"\nrequirements = 'TARGET.GLIDEIN_ResourceName == "PDX-Coeus-CE1"'`,
  );
  const answer = await checked(t, { 'updraft.toml': text });
  if (answer === undefined) return;
  assert.match(machines(answer) ?? JSON.stringify(answer.unchecked), /^1 of 3 match/);
});

test('an image is inspected: missing tools and modules are reported at the lines that use them', async (t) => {
  const answer = await checked(
    t,
    {
      'updraft.toml': job('files = ["run.sh"]\n[environment]\nimage = "bare"\n', 'sh run.sh'),
      'run.sh': '#!/bin/sh\nset -e\ncat x\nwget y\nunzip z || true\npython3 -m torch > out\n',
    },
    async (folder) => {
      await mkdir(path.join(folder, 'bare'));
      await makeImage(path.join(folder, 'bare'));
    },
  );
  if (answer === undefined) return;
  const software = answer.findings.filter(({ rule }) => /tool|module/.test(rule));
  assert.deepEqual(
    software.map(({ rule, file, line }) => `${rule} ${file ?? ''}:${line ?? 0}`),
    ['tool-missing run.sh:4', 'tool-missing run.sh:6', 'module-missing run.sh:6', 'tool-missing run.sh:5'],
    JSON.stringify(answer),
  );
  assert.match(software[0]?.message ?? '', /`wget` is not in the image bare/);
});

test('an image without gzip, which the agent needs, is an error', async (t) => {
  const answer = await checked(
    t,
    { 'updraft.toml': job('[environment]\nimage = "bare.sif"\n') },
    async (folder, bin) => {
      await mkdir(path.join(folder, 'bare'));
      await makeImage(path.join(folder, 'bare'), 'gzip');
      const words = ['build', ...uncompressed, 'bare.sif', 'bare'];
      await promisify(execFile)(path.join(bin, 'apptainer'), words, { cwd: folder });
    },
  );
  if (answer === undefined) return;
  const [only] = answer.findings.filter(({ rule }) => rule === 'tool-missing');
  assert.match(only?.message ?? JSON.stringify(answer), /`gzip` is not in the image bare\.sif/);
});

test('an image that cannot be started is listed as not checked, with the reason', async (t) => {
  const files = { 'updraft.toml': job('[environment]\nimage = "broken.sif"\n'), 'broken.sif': 'no image' };
  const answer = await checked(t, files);
  if (answer === undefined) return;
  const [only] = answer.unchecked;
  assert.equal(only?.what, 'tools and Python modules');
  assert.match(only.why, /inspecting the image broken\.sif failed: ./);
});
