import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { shellQuote } from '@updraft/base';
import { startFederation } from '@updraft/mini/federation';
import { enterCommand } from '@updraft/mini/testing';
import { compileCache } from '../compile-cache.ts';
import { makeImage, uncompressed } from '../condor/make-image.ts';
import { testPool } from '../pool.ts';
import { runNames } from '../run-names.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { writeChannel } from './make-channel.ts';
import { here, torchPackages } from './torch-packages.ts';
import { needOnPath } from '../on-path.ts';
import { cliMain } from '../programs.ts';

const compiled = { NODE_COMPILE_CACHE: compileCache };

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
async function updraftInRoot(
  t: TestContext,
  folder: string,
  words: string[],
  variables: string[] = [],
): Promise<Ended | undefined> {
  const pool = await testPool(t);
  if (pool === undefined) return undefined;
  const [nsenter = '', ...enter] = enterCommand({ keeper: pool.keeper.pid, master: pool.master });
  const env = [
    'env',
    '-i',
    'PATH=/usr/bin:/usr/sbin',
    `HOME=${folder}`,
    `TMPDIR=${folder}/tmp`,
    ...variables,
  ];
  const inside = [
    'sh',
    '-c',
    'cd "$1" && shift && exec "$@"',
    'sh',
    folder,
    process.execPath,
    cliMain,
    ...words,
  ];
  return await run(nsenter, [...enter, ...env, ...inside], folder, process.env);
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

test('an image without Python is named before the training starts', async (t) => {
  const folder = await project(t, jobFile('true', ['torch']));
  const ended = await updraftInRoot(t, folder, ['run', '--no-check']);
  if (ended === undefined) return;
  assert.equal(ended.code, 1);
  assert.match(
    `${ended.stdout}${ended.stderr}`,
    /no Python in the image \S*image can import torch \(no Python was found\)/,
  );
});

/** A fake Pixi for the building image: it makes a folder with a program, and a script that activates it. */
const pixi = `#!/bin/bash
set -e
case "$1 $2 $3 $4" in
  'install --locked --environment gpu')
    [ "$CONDA_OVERRIDE_CUDA" = 12.4 ] && [ -f pixi.toml ] && [ -f pixi.lock ]
    mkdir -p .pixi/envs/gpu/bin
    printf '#!/bin/bash\\necho "python of $CONDA_PREFIX, $HOOK, $*"\\n' > .pixi/envs/gpu/bin/python
    chmod 755 .pixi/envs/gpu/bin/python;;
  'shell-hook --environment gpu --shell')
    echo "export CONDA_PREFIX=$PWD/.pixi/envs/gpu PATH=$PWD/.pixi/envs/gpu/bin:\\$PATH HOOK='it is hooked'";;
  *) exit 9;;
esac
`;

test('a real Apptainer builds the definition from local images, and the image runs jobs', async (t) => {
  const pool = await testPool(t);
  if (pool === undefined) return;
  const folder = await temporaryFolder(t, { 'bin/.keep': '' });
  await cp(path.join(import.meta.dirname, 'workspaces/v6'), folder, { recursive: true });
  await makeImage(path.join(folder, 'base'), undefined, ['bash', 'cp', 'rm', 'ln', 'ls', 'env']);
  await writeFile(path.join(folder, 'base/usr/bin/pixi'), pixi, { mode: 0o755 });
  await buildFromFolder(folder, pool.bin);
  const env = { ...compiled, PATH: `${folder}/bin:/usr/bin:/bin`, HOME: folder, TMPDIR: folder };
  const built = await run(process.execPath, [cliMain, 'env', 'image', '-e', 'gpu', '--build'], folder, env);
  assert.equal(built.code, 0, built.stderr);
  const [, name = ''] = /^image = "(mnist-gpu-[0-9a-f]{8}\.sif)"$/m.exec(built.stdout) ?? [];
  const apptainer = path.join(folder, 'bin/apptainer');
  const asJob = await run(apptainer, ['exec', name, 'python', 'as a job'], folder, env);
  assert.equal(asJob.stdout, 'python of /opt/environment/.pixi/envs/gpu, , as a job\n', asJob.stderr);
  const byHand = await run(apptainer, ['run', name, 'python', 'by "hand"'], folder, env);
  assert.equal(byHand.stdout, 'python of /opt/environment/.pixi/envs/gpu, it is hooked, by "hand"\n');
  await runFromFederation(t, folder, name);
  const labels = await run(apptainer, ['inspect', '--labels', name], folder, env);
  assert.match(labels.stdout, /updraft\.environment: [0-9a-f]{64}/);
});

/** The tests may have no access to a registry: both stages of the definition start from a folder instead. */
async function buildFromFolder(folder: string, bin: string): Promise<void> {
  const bases = `s|^Bootstrap: docker|Bootstrap: localimage|; s|^From: .*|From: ${folder}/base|`;
  const plain = uncompressed.map(shellQuote).join(' ');
  const build = `[ "$1" != build ] || { sed -i '${bases}' apptainer.def; shift; set -- build ${plain} "$@"; }`;
  const program = `#!/bin/sh\n${build}\nexec '${bin}/apptainer' "$@"\n`;
  await writeFile(path.join(folder, 'bin/apptainer'), program, { mode: 0o755 });
}

test('a real pixi installs the selected platform into an image that a real Apptainer builds', async (t) => {
  const [pixi] = (await needOnPath(t, 'pixi')) ?? [];
  if (pixi === undefined) return;
  const pool = await testPool(t);
  if (pool === undefined) return;
  const folder = await temporaryFolder(t, { 'bin/.keep': '' });
  const channel = await writeChannel(folder, torchPackages());
  const platforms = `["${here}", { name = "with-gpu", platform = "${here}", cuda = "12.4" }]`;
  const manifest = `[workspace]\nname = "mnist"\nchannels = ["${channel}"]\nplatforms = ${platforms}\n[dependencies]\npytorch = "*"\n`;
  await writeFile(path.join(folder, 'pixi.toml'), manifest);
  await makeImage(path.join(folder, 'base'), undefined, ['bash', 'cp', 'rm', 'ln', 'ls', 'env', pixi]);
  // Without certificates it does not start, although it fetches nothing.
  const certificates = 'etc/ssl/certs/ca-certificates.crt';
  await cp(`/${certificates}`, path.join(folder, 'base', certificates));
  await cp(path.join(folder, 'channel'), path.join(folder, 'base', folder, 'channel'), { recursive: true });
  await buildFromFolder(folder, pool.bin);
  const env = { PATH: `${folder}/bin:${path.dirname(pixi)}:/usr/bin:/bin`, HOME: folder, TMPDIR: folder };
  const locked = await run(process.execPath, [cliMain, 'env', 'lock'], folder, env);
  assert.equal(locked.code, 0, locked.stderr);
  const words = [cliMain, 'env', 'image', '-p', 'with-gpu', '--build'];
  const built = await run(process.execPath, words, folder, env);
  assert.equal(built.code, 0, built.stderr);
  const [, name = ''] = /^image = "(mnist-default-[0-9a-f]{8}\.sif)"$/m.exec(built.stdout) ?? [];
  const prefix = '/opt/environment/.pixi/envs/default';
  const listing = await run(
    `${folder}/bin/apptainer`,
    ['exec', name, 'ls', `${prefix}/conda-meta`],
    folder,
    env,
  );
  assert.match(listing.stdout, /^pytorch-2\.5\.1-cuda126_/m, listing.stderr);
  const byHand = await run(`${folder}/bin/apptainer`, ['run', name, 'python'], folder, env);
  assert.equal(byHand.stdout, `python of ${prefix}\n`);
});

/** Runs a job on the local pool whose image comes from a federation. */
async function runFromFederation(t: TestContext, folder: string, image: string): Promise<void> {
  const federation = await startFederation({ namespaces: [{ prefix: '/images', folder, public: true }] });
  t.after(() => federation[Symbol.asyncDispose]());
  const text = jobFile('python from afar > said.txt').replace('"image"', `"osdf:///images/${image}"`);
  await writeFile(path.join(folder, 'updraft.toml'), text);
  await mkdir(path.join(folder, 'tmp'));
  const words = [`UPDRAFT_OSDF_HOST=${federation.discoveryHost}`, `SSL_CERT_FILE=${federation.caFile}`];
  const ended = await updraftInRoot(t, folder, ['run'], words);
  if (ended === undefined) return;
  assert.equal(ended.code, 0, ended.stderr);
  assert.match(ended.stderr, /fetching the image osdf:\/\/\/images\//);
  assert.equal(
    await results(folder, 'said.txt'),
    'python of /opt/environment/.pixi/envs/gpu, it is hooked, from afar\n',
  );
}

test('without Apptainer a job with an image is refused, not run outside of it', async (t) => {
  const folder = await temporaryFolder(t, { 'updraft.toml': jobFile('true') });
  await writeFile(path.join(folder, 'image'), '');
  const env = { ...compiled, PATH: '/nowhere', HOME: folder };
  const { code, stderr } = await run(process.execPath, [cliMain, 'submit'], folder, env);
  assert.equal(code, 4);
  assert.match(stderr, /runs in the image image, but neither apptainer nor singularity is on the PATH/);
  const runs = await readdir(path.join(folder, 'runs')).catch(() => []);
  assert.deepEqual(
    runs.filter((name) => !name.startsWith('.')),
    [],
  );
});
