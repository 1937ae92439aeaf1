import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, test, type TestContext } from 'node:test';
import { testPool } from '../pool.ts';
import { torchImage } from '../torch-image.ts';
import { ExampleHarness } from './example-harness.ts';

interface Example {
  modules: string[];
  prefix: string;
  /** Few images: this is about the way to the training, in an image on another machine. */
  size: string[];
  prepare?: (harness: ExampleHarness) => Promise<string[]>;
}

/** Made once for both. */
let image: Promise<string> | undefined;

async function runOnPool(
  t: TestContext,
  example: string,
  { modules, prefix, size, prepare = () => Promise.resolve([]) }: Example,
): Promise<void> {
  const harness = await ExampleHarness.open(t, example, modules);
  if (harness === undefined) return;
  const pool = await testPool(t);
  if (pool === undefined) return;
  image ??= torchImage(pool);
  await harness.publish(prefix, ...size);
  harness.env['PATH'] = `${pool.bin}:${harness.env['PATH'] ?? ''}`;
  const job = [
    ...(await prepare(harness)),
    '--with',
    'small.toml',
    '--pool',
    'condor',
    '--set',
    `environment.image=${await image}`,
  ];
  const { code, err } = await harness.updraft('run', ...job, '--set', 'run.jobs=1');
  assert.equal(code, 0, err);
  const { state } = await harness.result();
  assert.equal(state.tally.success, 1);
  const agent = state.jobs[0]?.attempts.at(-1)?.agent;
  assert.match(agent?.site ?? '', /CHTC-Spark-CE1|PDX-Coeus-CE1|GP-ARGO-ksu-backfill/);
  assert.match(agent?.fetches[0]?.object ?? '', /^osdf:/);
  assert.equal(agent?.training?.epoch, 2);
}

// Side by side: each mostly waits for its job.
describe('on a real pool, in an image, on data from the federation', { concurrency: true }, () => {
  test('CIFAR-10 trains', (t) =>
    runOnPool(t, 'cifar10-resnet', {
      modules: ['numpy'],
      prefix: '/nrp/osdf/cifar-10',
      size: ['--images-per-batch', '40'],
    }));

  test('ImageNet trains', (t) =>
    runOnPool(t, 'imagenet-resnet50', {
      modules: ['numpy', 'PIL'],
      prefix: '/imagenet',
      size: ['--classes', '4', '--images-per-class', '6'],
      prepare: stageImages,
    }));
});

async function stageImages(harness: ExampleHarness): Promise<string[]> {
  const unpacked = await harness.run('unpack_classes.py', '--held-out', '0.2');
  assert.equal(unpacked.code, 0, unpacked.err);
  for (const part of ['train', 'val']) {
    const words = [part, 'osdf:///imagenet', '--shuffle', '--into', `data/${part}`];
    const { code, out, err } = await harness.updraft('stage', ...words);
    assert.equal(code, 0, err);
    await appendFile(path.join(harness.folder, 'data.toml'), out);
  }
  return ['--with', 'data.toml'];
}
