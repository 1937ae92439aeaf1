import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { access, mkdir, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import type { PoolState } from '../../src/mini/pool/pool.ts';
import { testPool } from '../pool.ts';
import { ExampleBench } from './example-bench.ts';

const run = promisify(execFile);

/** An image with PyTorch, made of the pool's own root folder and kept beside it; not compressed, to save time. */
async function torchImage({ root, bin }: PoolState): Promise<string> {
  const image = `${root}.sif`;
  const isMade = await access(image).then(
    () => true,
    () => false,
  );
  if (isMade) return image;
  const draft = `${root}.image-${process.pid}`;
  try {
    await mkdir(draft);
    // A copy in which everything is ours: Apptainer cannot give files to users that its namespace does not know.
    const leftOut = ['proc', 'sys', 'dev', 'var/cache', 'usr/share', 'usr/lib/condor', 'usr/libexec/condor'];
    const words = leftOut.map((name) => `--exclude=./${name}/*`).join(' ');
    const copy = `tar -C "$1" ${words} -cf - . | tar -C "$2" --no-same-owner -xf -`;
    await run('sh', ['-c', copy, 'sh', root, draft]);
    const plain = ['--mksquashfs-args', '-noI -noD -noF -noX'];
    await run(path.join(bin, 'apptainer'), ['build', ...plain, `${draft}.sif`, draft], {
      maxBuffer: 1 << 24,
    });
    await rename(`${draft}.sif`, image);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return image;
}

async function runOnPool(t: TestContext, example: string, modules: string[], prefix: string): Promise<void> {
  const bench = await ExampleBench.open(t, example, modules);
  if (bench === undefined) return;
  const pool = await testPool(t);
  if (pool === undefined) return;
  const image = await torchImage(pool);
  await bench.publish(prefix);
  bench.env['PATH'] = `${pool.bin}:${bench.env['PATH'] ?? ''}`;
  const job = ['--with', 'small.toml', '--pool', 'condor', '--set', `environment.image=${image}`];
  const { code, err } = await bench.updraft('run', ...job, '--set', 'run.jobs=2');
  assert.equal(code, 0, err);
  const { state } = await bench.result();
  assert.equal(state.tally.success, 2);
  for (const { attempts } of state.jobs) {
    const agent = attempts.at(-1)?.agent;
    assert.match(agent?.site ?? '', /CHTC-Spark-CE1|PDX-Coeus-CE1|GP-ARGO-ksu-backfill/);
    assert.match(agent?.fetches[0]?.object ?? '', /^osdf:/);
    assert.equal(agent?.training?.epoch, 2);
  }
}

test('CIFAR-10 trains on a real pool, in an image, on data of the federation', { timeout: 600_000 }, (t) =>
  runOnPool(t, 'cifar10-resnet', ['numpy'], '/nrp/osdf/cifar-10'),
);

test('ImageNet trains on a real pool, in an image, on data of the federation', { timeout: 600_000 }, (t) =>
  runOnPool(t, 'imagenet-resnet50', ['numpy', 'PIL'], '/nrp/osdf/ILSVRC2012'),
);
