import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { findProgram } from '../../src/base/find-program.ts';
import * as env from '../../src/cli/commands/env.ts';
import { runCommand } from '../cli/run-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { writeChannel } from './make-channel.ts';
import { here, torchPackages } from './torch-packages.ts';

const features = `
[feature.cpu.dependencies]
pytorch-cpu = "*"

[feature.gpu.system-requirements]
cuda = "12.4"

[feature.gpu.dependencies]
pytorch-gpu = ">=2.5,<3"

[environments]
cpu = ["cpu"]
gpu = ["gpu"]
`;

interface Bench {
  folder: string;
  manifest: string;
  pixi: string;
  lock: () => Promise<string>;
  run: (...words: string[]) => ReturnType<typeof runCommand>;
}

/** A workspace beside a channel of its own, for the pixi of this machine; skips the test where there is none. */
async function pixiBench(
  t: TestContext,
  text: string,
  platforms = `["${here}"]`,
): Promise<Bench | undefined> {
  const pixi = await findProgram(['pixi'], process.env);
  if (pixi === undefined) {
    t.skip('no pixi on the PATH of this machine');
    return undefined;
  }
  const folder = await temporaryFolder(t);
  const channel = await writeChannel(folder, torchPackages());
  const manifest = path.join(folder, 'pixi.toml');
  const head = `[workspace]\nname = "mnist"\nchannels = ["${channel}"]\nplatforms = ${platforms}\n`;
  await writeFile(manifest, `${head}\n[dependencies]\npython = "3.12.*"\n${text}`);
  const where = { cwd: folder, env: { ...process.env, HOME: folder } };
  return {
    folder,
    manifest,
    pixi,
    lock: () => readFile(path.join(folder, 'pixi.lock'), 'utf8'),
    run: (...words) => runCommand(env, words, where),
  };
}

interface Facts {
  torch: { build: string; cuda?: string };
  needs: { cuda?: string };
  packages: number;
  hash: string;
}

const factsOf = async ({ run }: Bench, ...words: string[]): Promise<Facts> =>
  JSON.parse((await run('show', '--json', '-p', here, ...words)).out) as Facts;

test('a lock that pixi writes is read: builds, needs and packages as pixi lists them', async (t) => {
  const bench = await pixiBench(t, features);
  if (bench === undefined) return;
  const { out } = await bench.run('lock');
  assert.match(out, /pixi\.lock: version \d, 3 environments on their platforms; pixi agrees/);
  const [cpu, gpu] = [await factsOf(bench, '-e', 'cpu'), await factsOf(bench, '-e', 'gpu')];
  assert.deepEqual([cpu.torch.build, gpu.torch.build], ['cpu', 'gpu']);
  assert.deepEqual([gpu.torch.cuda, gpu.needs.cuda], ['12.6', '12.4']);
  const words = ['list', '--json', '--locked', '--environment', 'gpu', '--manifest-path', bench.manifest];
  const listed = await promisify(execFile)(bench.pixi, words, {
    env: { ...process.env, HOME: bench.folder, CONDA_OVERRIDE_CUDA: '12.4' },
  });
  assert.equal((JSON.parse(listed.stdout) as unknown[]).length, gpu.packages);
});

test('a lock that pixi does not agree with is told, and is not written anew unasked', async (t) => {
  const bench = await pixiBench(t, features);
  if (bench === undefined) return;
  await bench.run('lock');
  const before = await bench.lock();
  const text = await readFile(bench.manifest, 'utf8');
  // Nothing that could be seen without a solver: another strategy.
  await writeFile(bench.manifest, text.replace('[workspace]', '[workspace]\nsolve-strategy = "lowest"'));
  await assert.rejects(bench.run('lock', '--check'), {
    kind: 'file-invalid',
    message: /says pixi: .* is out of date because the lock.?file was solved with a different strategy/,
  });
  assert.equal(await bench.lock(), before);
  await bench.run('lock');
  assert.match((await bench.run('lock', '--check')).out, /pixi agrees/);
});

test('a lock of version 6 is as good to pixi, and stays what it is', async (t) => {
  const bench = await pixiBench(t, features);
  if (bench === undefined) return;
  await bench.run('lock');
  const { hash } = await factsOf(bench, '-e', 'gpu');
  const seven = await bench.lock();
  const six = seven
    .replace(/^version: \d+$/m, 'version: 6')
    .replace(/^platforms:\n[^]*?(?=^environments:)/m, '')
    .replaceAll(/^( +)p1:$/gm, `$1${here}:`);
  await writeFile(path.join(bench.folder, 'pixi.lock'), six);
  assert.match((await bench.run('lock', '--check')).out, /version 6, 3 environments .*; pixi agrees/);
  assert.equal(await bench.lock(), six);
  assert.equal((await factsOf(bench, '-e', 'gpu')).hash, hash);
});

test('what pixi cannot solve is told in its words, and the lock stays', async (t) => {
  const bench = await pixiBench(t, features);
  if (bench === undefined) return;
  await bench.run('lock');
  const before = await bench.lock();
  await writeFile(
    bench.manifest,
    `${await readFile(bench.manifest, 'utf8')}\n[feature.cpu.target.linux.dependencies]\nscipy = "*"\n`,
  );
  await assert.rejects(bench.run('lock'), {
    kind: 'environment-broken',
    message: /^pixi failed: .*No candidates were found for scipy/,
  });
  assert.equal(await bench.lock(), before);
});

test('of a platform with and without CUDA the one that is meant is shown and installed', async (t) => {
  const platforms = `["${here}", { name = "with-gpu", platform = "${here}", cuda = "12.4" }]`;
  const bench = await pixiBench(t, 'pytorch = "*"\n', platforms);
  if (bench === undefined) return;
  await bench.run('lock');
  assert.equal((await factsOf(bench, '-e', 'default')).torch.build, 'cpu');
  const gpu = JSON.parse((await bench.run('show', '-e', 'default', '-p', 'with-gpu', '--json')).out) as Facts;
  assert.equal(gpu.torch.build, 'gpu');
  const { out } = await bench.run('image', '-p', 'with-gpu', '--docker');
  // The commands of the recipe, here instead of in an image.
  const [, commands = ''] = /^RUN ([^]*?)\n\n/m.exec(out) ?? [];
  const local = commands.replaceAll('/opt/environment', bench.folder);
  await promisify(execFile)('bash', ['-ec', local], { env: { ...process.env, HOME: bench.folder } });
  const { stdout } = await promisify(execFile)('bash', [path.join(bench.folder, 'entry.sh'), 'python']);
  assert.equal(stdout, `python of ${bench.folder}/.pixi/envs/default\n`);
  const installed = await promisify(execFile)('ls', [`${bench.folder}/.pixi/envs/default/conda-meta`]);
  assert.match(installed.stdout, /^pytorch-2\.5\.1-cuda126_/m);
});
