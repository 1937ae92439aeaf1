import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { makeImage } from '../condor/make-image.ts';
import { testPool } from '../pool.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { runNames } from '../run-names.ts';

const main = path.resolve(import.meta.dirname, '../../src/cli/main.ts');

interface Ended {
  code: number;
  stdout: string;
  stderr: string;
}

const run = async (program: string, words: string[], cwd: string, env: NodeJS.ProcessEnv): Promise<Ended> =>
  await promisify(execFile)(program, words, { cwd, env }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    (error: unknown) => error as Ended,
  );

/** Runs updraft where there is a real Apptainer: inside the root folder of the test's pool. */
async function updraftInRoot(t: TestContext, folder: string, words: string[]): Promise<Ended | undefined> {
  const pool = await testPool(t);
  if (pool === undefined) return undefined;
  const enter = ['-t', String(pool.master), '--user', '--mount', '--pid', '--preserve-credentials', '--'];
  const env = ['env', '-i', 'PATH=/usr/bin:/usr/sbin', `HOME=${folder}`, `TMPDIR=${folder}/tmp`];
  const inside = [
    'sh',
    '-c',
    'cd "$1" && shift && exec "$@"',
    'sh',
    folder,
    process.execPath,
    main,
    ...words,
  ];
  return await run('nsenter', [...enter, ...env, ...inside], folder, process.env);
}

const jobFile = (command: string, python: string[] = []): string => `
name = "in-image"
[train]
command = ${JSON.stringify(command)}
outputs = ["said.txt"]
[environment]
image = "image"
python = ${JSON.stringify(python)}
[run]
attempts = 1
`;

async function project(t: TestContext, text: string): Promise<string> {
  const folder = await temporaryFolder(t, { 'updraft.toml': text });
  await mkdir(path.join(folder, 'tmp'));
  await makeImage(path.join(folder, 'image'));
  return folder;
}

async function results(folder: string, file: string): Promise<string> {
  const [name = ''] = await runNames(folder);
  return await readFile(path.join(folder, 'runs', name, 'results', '0000', file), 'utf8');
}

test('on the local pool a job with an image runs inside it, as it would on HTCondor', async (t) => {
  const folder = await project(t, jobFile('cat /made-by-test > said.txt'));
  const ended = await updraftInRoot(t, folder, ['run']);
  if (ended === undefined) return;
  assert.equal(ended.code, 0, ended.stderr);
  assert.equal(await results(folder, 'said.txt'), 'image\n');
  assert.deepEqual(await readdir(path.join(folder, 'tmp')), [], 'no scratch folder is left');
});

test('an image that has no Python is told by its name before the training starts', async (t) => {
  const folder = await project(t, jobFile('true', ['torch']));
  const ended = await updraftInRoot(t, folder, ['run', '--no-check']);
  if (ended === undefined) return;
  assert.equal(ended.code, 1);
  assert.match(
    `${ended.stdout}${ended.stderr}`,
    /no Python in the image \S*image can import torch \(no Python was found\)/,
  );
});

test('a machine without Apptainer says so instead of running the job outside of its image', async (t) => {
  const folder = await temporaryFolder(t, { 'updraft.toml': jobFile('true') });
  await writeFile(path.join(folder, 'image'), '');
  const env = { PATH: '/nowhere', HOME: folder };
  const { code, stderr } = await run(process.execPath, [main, 'submit'], folder, env);
  assert.equal(code, 4);
  assert.match(stderr, /runs in the image image, and there is neither apptainer nor singularity on the PATH/);
  assert.equal(existsSync(path.join(folder, 'runs')), false);
});
