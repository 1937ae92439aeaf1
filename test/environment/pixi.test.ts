import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { findProgram } from '@updraft/base';
import * as env from '../../src/cli/commands/env.ts';
import { runCommand } from '../cli/run-command.ts';
import { needOnPath } from '../on-path.ts';
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

interface PixiHarness {
  folder: string;
  manifest: string;
  pixi: string;
  lock: () => Promise<string>;
  run: (...words: string[]) => ReturnType<typeof runCommand>;
}

/** A workspace with a local channel, for the installed pixi; skips the test if there is none. */
async function pixiHarness(
  t: TestContext,
  text: string,
  platforms = `["${here}"]`,
): Promise<PixiHarness | undefined> {
  const [pixi] = (await needOnPath(t, 'pixi')) ?? [];
  if (pixi === undefined) return undefined;
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

const factsOf = async ({ run }: PixiHarness, ...words: string[]): Promise<Facts> =>
  JSON.parse((await run('show', '--json', '-p', here, ...words)).out) as Facts;

test('a lock written by pixi is read: builds, needs and packages as pixi lists them', async (t) => {
  const harness = await pixiHarness(t, features);
  if (harness === undefined) return;
  await harness.run('lock');
  assert.match(await harness.lock(), /^version: \d$/m);
  const [cpu, gpu] = [await factsOf(harness, '-e', 'cpu'), await factsOf(harness, '-e', 'gpu')];
  assert.deepEqual([cpu.torch.build, gpu.torch.build], ['cpu', 'gpu']);
  assert.deepEqual([gpu.torch.cuda, gpu.needs.cuda], ['12.6', '12.4']);
  const words = ['list', '--json', '--locked', '--environment', 'gpu', '--manifest-path', harness.manifest];
  const listed = await promisify(execFile)(harness.pixi, words, {
    env: { ...process.env, HOME: harness.folder, CONDA_OVERRIDE_CUDA: '12.4' },
  });
  assert.equal((JSON.parse(listed.stdout) as unknown[]).length, gpu.packages);
  if ((await findProgram(['pixi-pack'], process.env)) === undefined) return;
  // Pixi gives the environment a platform of its own, for `system-requirements`; the pack is of its subdir.
  const packed = JSON.parse((await harness.run('pack', '-p', here, '-e', 'gpu', '--tar', '--json')).out) as {
    packages: number;
  };
  assert.equal(packed.packages, gpu.packages);
});

test('a version 6 lock is as good as one of version 7', async (t) => {
  const harness = await pixiHarness(t, features);
  if (harness === undefined) return;
  await harness.run('lock');
  const { hash } = await factsOf(harness, '-e', 'gpu');
  const seven = await harness.lock();
  const six = seven
    .replace(/^version: \d+$/m, 'version: 6')
    .replace(/^platforms:\n[^]*?(?=^environments:)/m, '')
    .replaceAll(/^( +)p1:$/gm, `$1${here}:`);
  await writeFile(path.join(harness.folder, 'pixi.lock'), six);
  assert.equal((await factsOf(harness, '-e', 'gpu')).hash, hash);
});

test("pixi's error is printed when it cannot solve, and the lock stays", async (t) => {
  const harness = await pixiHarness(t, features);
  if (harness === undefined) return;
  await harness.run('lock');
  const before = await harness.lock();
  await writeFile(
    harness.manifest,
    `${await readFile(harness.manifest, 'utf8')}\n[feature.cpu.target.linux.dependencies]\nscipy = "*"\n`,
  );
  await assert.rejects(harness.run('lock'), {
    kind: 'environment-broken',
    message: /^pixi failed: .*No candidates were found for scipy/,
  });
  assert.equal(await harness.lock(), before);
});

test('of platforms with and without CUDA, the selected one is shown and installed', async (t) => {
  const platforms = `["${here}", { name = "with-gpu", platform = "${here}", cuda = "12.4" }]`;
  const harness = await pixiHarness(t, 'pytorch = "*"\n', platforms);
  if (harness === undefined) return;
  await harness.run('lock');
  assert.equal((await factsOf(harness, '-e', 'default')).torch.build, 'cpu');
  const gpu = JSON.parse(
    (await harness.run('show', '-e', 'default', '-p', 'with-gpu', '--json')).out,
  ) as Facts;
  assert.equal(gpu.torch.build, 'gpu');
  const { out } = await harness.run('image', '-p', 'with-gpu', '--docker');
  // Runs the commands of the recipe here instead of in an image.
  const [, commands = ''] = /^RUN ([^]*?)\n\n/m.exec(out) ?? [];
  const local = commands.replaceAll('/opt/environment', harness.folder);
  await promisify(execFile)('bash', ['-ec', local], { env: { ...process.env, HOME: harness.folder } });
  const { stdout } = await promisify(execFile)('bash', [path.join(harness.folder, 'entry.sh'), 'python']);
  assert.equal(stdout, `python of ${harness.folder}/.pixi/envs/default\n`);
  const installed = await promisify(execFile)('ls', [`${harness.folder}/.pixi/envs/default/conda-meta`]);
  assert.match(installed.stdout, /^pytorch-2\.5\.1-cuda126_/m);
});
