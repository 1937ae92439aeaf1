import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { testPool } from '../pool.ts';
import { torchImage } from '../torch-image.ts';
import { ExampleHarness } from './example-harness.ts';

async function runOnPool(t: TestContext, example: string, modules: string[], prefix: string): Promise<void> {
  const harness = await ExampleHarness.open(t, example, modules);
  if (harness === undefined) return;
  const pool = await testPool(t);
  if (pool === undefined) return;
  const image = await torchImage(pool);
  await harness.publish(prefix);
  harness.env['PATH'] = `${pool.bin}:${harness.env['PATH'] ?? ''}`;
  const job = ['--with', 'small.toml', '--pool', 'condor', '--set', `environment.image=${image}`];
  const { code, err } = await harness.updraft('run', ...job, '--set', 'run.jobs=1');
  assert.equal(code, 0, err);
  const { state } = await harness.result();
  assert.equal(state.tally.success, 1);
  const agent = state.jobs[0]?.attempts.at(-1)?.agent;
  assert.match(agent?.site ?? '', /CHTC-Spark-CE1|PDX-Coeus-CE1|GP-ARGO-ksu-backfill/);
  assert.match(agent?.fetches[0]?.object ?? '', /^osdf:/);
  assert.equal(agent?.training?.epoch, 2);
}

test('CIFAR-10 trains on a real pool, in an image, on data from the federation', { timeout: 600_000 }, (t) =>
  runOnPool(t, 'cifar10-resnet', ['numpy'], '/nrp/osdf/cifar-10'),
);

test('ImageNet trains on a real pool, in an image, on data from the federation', { timeout: 600_000 }, (t) =>
  runOnPool(t, 'imagenet-resnet50', ['numpy', 'PIL'], '/nrp/osdf/ILSVRC2012'),
);
