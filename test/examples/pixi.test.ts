import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { findProgram } from '@updraft/base';
import { needOnPath } from '../on-path.ts';
import { ExampleHarness } from './example-harness.ts';

test('MNIST with Pixi: the commands in the README give a valid result on this machine', async (t) => {
  const harness = await ExampleHarness.open(t, 'mnist-pixi', ['torch', 'numpy']);
  if (harness === undefined) return;
  const { code, err } = await harness.followPage('examples/mnist-pixi/README.md');
  assert.equal(code, 0, err);
  const { state } = await harness.result();
  assert.deepEqual([state.tally.success, state.jobs[0]?.attempts[0]?.agent?.fetches.length], [1, 4]);
  assert.ok(((await harness.metrics())['accuracy'] as number) > 0.5);
});

test('MNIST with Pixi: a file that is missing, truncated or something else is named', async (t) => {
  const harness = await ExampleHarness.open(t, 'mnist-pixi', ['torch', 'numpy']);
  if (harness === undefined) return;
  assert.equal((await harness.run('make_data.py')).code, 0);
  const images = path.join(harness.folder, 'published/train-images-idx3-ubyte.gz');
  const whole = await readFile(images);
  const train = async (): Promise<string> => {
    const run = await harness.run(
      'torch_mnist.py',
      '--data-dir',
      'published',
      '--device',
      'cpu',
      '--dry-run',
    );
    assert.equal(run.code, 1, run.out);
    return run.err;
  };
  await writeFile(images, whole.subarray(0, 2000));
  assert.match(await train(), /train-images-idx3-ubyte\.gz cannot be read/);
  await writeFile(images, await readFile(path.join(harness.folder, 'published/train-labels-idx1-ubyte.gz')));
  assert.match(await train(), /is not an MNIST file: it begins with 00 00 08 01/);
  await rm(images);
  assert.match(await train(), /train-images-idx3-ubyte\.gz is not in published/);
});

test('MNIST with Pixi: actionlint finds nothing in the workflow that builds the image', async (t) => {
  const [actionlint] = (await needOnPath(t, 'actionlint')) ?? [];
  if (actionlint === undefined) return;
  const workflow = path.resolve(import.meta.dirname, '../../examples/mnist-pixi/image.yml');
  await promisify(execFile)(actionlint, [workflow]);
});

for (const name of ['mnist-pixi', 'hello-pytorch-pixi-pack'])
  test(`${name}: without a lock file the local pool plans this machine's own software, and others refuse`, async (t) => {
    const harness = await ExampleHarness.open(t, name, []);
    if (harness === undefined) return;
    const here = await harness.updraft('plan');
    assert.equal(here.code, 0, here.err);
    assert.match(
      here.out,
      /this machine's software, not the Pixi environment: pixi\.lock does not exist; write it with: updraft env lock/,
    );
    assert.equal((await harness.updraft('plan', '--with', 'own-python.toml', '--set', 'run.jobs=2')).code, 0);
    const { code, err } = await harness.updraft('plan', '--with', 'pool.toml');
    assert.equal(code, 3, err);
    assert.match(err, /pixi\.lock/);
    assert.match(err, /updraft env lock|pixi lock/);
  });

test('Hello, GPU: the commands in the README give a valid result on this machine', async (t) => {
  const harness = await ExampleHarness.open(t, 'hello-pytorch-pixi-pack', ['torch']);
  if (harness === undefined) return;
  const { code, out, err } = await harness.followPage('examples/hello-pytorch-pixi-pack/README.md');
  assert.equal(code, 0, err);
  assert.match(out, /"device": "c(pu|uda)"/);
  if ((await findProgram(['pixi'], harness.env)) === undefined)
    assert.match(err, /running with this machine's software, .*updraft env lock/);
});

test('Hello, GPU: a machine without one is refused, with the build of PyTorch', async (t) => {
  const harness = await ExampleHarness.open(t, 'hello-pytorch-pixi-pack', ['torch']);
  if (harness === undefined) return;
  harness.env['CUDA_VISIBLE_DEVICES'] = '';
  const { code, err } = await harness.run('hello_pytorch.py', '--require-gpu');
  assert.equal(code, 1);
  assert.match(err, /PyTorch \S+ \((a CPU build|built for CUDA [\d.]+)\) finds no GPU on this machine/);
});
