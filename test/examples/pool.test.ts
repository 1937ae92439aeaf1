import assert from 'node:assert/strict';
import { appendFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { testPool } from '../pool.ts';
import { torchImage } from '../torch-image.ts';
import { ExampleHarness } from './example-harness.ts';

async function runOnPool(
  t: TestContext,
  example: string,
  modules: string[],
  prefix: string,
  prepare: (harness: ExampleHarness) => Promise<string[]> = () => Promise.resolve([]),
): Promise<void> {
  const harness = await ExampleHarness.open(t, example, modules);
  if (harness === undefined) return;
  const pool = await testPool(t);
  if (pool === undefined) return;
  const image = await torchImage(pool);
  await harness.publish(prefix);
  harness.env['PATH'] = `${pool.bin}:${harness.env['PATH'] ?? ''}`;
  const job = [
    ...(await prepare(harness)),
    '--with',
    'small.toml',
    '--pool',
    'condor',
    '--set',
    `environment.image=${image}`,
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

test('CIFAR-10 trains on a real pool, in an image, on data from the federation', (t) =>
  runOnPool(t, 'cifar10-resnet', ['numpy'], '/nrp/osdf/cifar-10'));

test('ImageNet trains on a real pool, in an image, on data from the federation', (t) =>
  runOnPool(t, 'imagenet-resnet50', ['numpy', 'PIL'], '/imagenet', async (harness) => {
    const unpacked = await harness.run('unpack_classes.py', '--held-out', '0.2');
    assert.equal(unpacked.code, 0, unpacked.err);
    for (const part of ['train', 'val']) {
      const words = [part, 'osdf:///imagenet', '--shuffle', '--into', `data/${part}`];
      const { code, out, err } = await harness.updraft('stage', ...words);
      assert.equal(code, 0, err);
      await appendFile(path.join(harness.folder, 'data.toml'), out);
    }
    return ['--with', 'data.toml'];
  }));
