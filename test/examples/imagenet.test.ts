import assert from 'node:assert/strict';
import { cp, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { freePorts } from '../servers/server-process.ts';
import { ExampleHarness, sharedFolder } from './example-harness.ts';

const modules = ['torch', 'numpy', 'PIL'];
const open = (t: TestContext): Promise<ExampleHarness | undefined> =>
  ExampleHarness.open(t, 'imagenet-resnet50', modules);
/** The smallest training that still has ResNet-50's layers, on a stream. */
const small = '--epochs 1 --batch-size 4 --width 4 --image-size 32 --workers 0 --log-interval 1'.split(' ');

/** Shards as on a laptop without Updraft: three classes of six images. */
const shards = sharedFolder(async (harness) => {
  const made = await harness.run('make_data.py', 'small.tar', '--classes', '3', '--images-per-class', '6');
  assert.equal(made.code, 0, made.err);
  const unpacked = await harness.run('unpack_classes.py', 'small.tar', '--held-out', '0.2');
  assert.equal(unpacked.code, 0, unpacked.err);
  const script = `
import os, tarfile
for part in ("train", "val"):
    os.makedirs(f"data/{part}")
    with tarfile.open(f"data/{part}/0.tar", "w") as shard:
        shard.add(part, "")
os.rename("classes.txt", "data/classes.txt")
`;
  await writeFile(path.join(harness.folder, 'shards.py'), script);
  const done = await harness.run('shards.py');
  assert.equal(done.code, 0, done.err);
  return path.join(harness.folder, 'data');
});

async function onLaptop(harness: ExampleHarness): Promise<string> {
  await cp('python/updraft', path.join(harness.folder, 'updraft'), { recursive: true });
  const data = await shards(harness, 'data');
  await cp(path.join(data, 'classes.txt'), path.join(harness.folder, 'classes.txt'));
  return data;
}

test('ImageNet: the commands in the README give a valid ResNet-50 on this machine', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  const { code, err } = await harness.followPage('examples/imagenet-resnet50/README.md');
  assert.equal(code, 0, err);
  const { state } = await harness.result();
  assert.equal(state.tally.success, 1);
  const { training } = state.jobs[0]?.attempts[0]?.agent ?? {};
  assert.deepEqual([training?.epoch, training?.epochs], [2, 2]);
  assert.ok(training?.accuracy !== undefined && training.loss !== undefined);
  assert.equal(((await harness.metrics())['epochs'] as unknown[]).length, 2);
});

test('ImageNet: initial weights are loaded, and a file that holds none is named', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  const script = `
import torch
import main
published = main.ResNet50().state_dict()
torch.save(published, "weights.pth")
model = main.ResNet50()
main.load_weights(model, "weights.pth")
assert all(torch.equal(value, published[name]) for name, value in model.state_dict().items())
open("weights.pth", "w").write("<html>Sign in</html>")
main.load_weights(model, "weights.pth")
`;
  await cp('python/updraft', path.join(harness.folder, 'updraft'), { recursive: true });
  await writeFile(path.join(harness.folder, 'weights.py'), script);
  const { code, err } = await harness.run('weights.py');
  assert.equal(code, 1, err);
  assert.match(err, /^weights\.pth holds no weights of ResNet-50: .+\n$/);
});

test('ImageNet: a training that gets SIGTERM saves, exits with 85, and resumes at the next batch', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  await onLaptop(harness);
  harness.env['UPDRAFT_CHECKPOINT'] = path.join(harness.folder, 'checkpoints');
  const twoEpochs = [...small, '--epochs', '2'];
  const training = harness.start('main.py', ...twoEpochs);
  await training.until('Train Epoch: 1/2');
  training.kill('SIGTERM');
  const stopped = await training.ended;
  assert.equal(stopped.code, 85, stopped.err);
  const again = await harness.run('main.py', ...twoEpochs);
  assert.equal(again.code, 0, again.err);
  const lines = (stopped.out + again.out).match(/^Train Epoch: .+\]/gm);
  assert.deepEqual(
    lines,
    [1, 2].flatMap((epoch) => [4, 8, 12].map((seen) => `Train Epoch: ${epoch}/2 [${seen}/12]`)),
  );
});

test('ImageNet: four processes are interrupted, two go on, and one ends: the same images, unchanged', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  await onLaptop(harness);
  harness.env['UPDRAFT_CHECKPOINT'] = path.join(harness.folder, 'checkpoints');
  harness.env['GLOO_SOCKET_IFNAME'] = 'lo';
  // Normalization over one image each needs more than one pixel.
  const words = [...small, '--image-size', '64', '--epochs', '8', '--save-model'];
  const start = async (count: number) => {
    const [port] = await freePorts(1);
    return Array.from({ length: count }, (_, rank) => {
      const env = {
        RANK: rank,
        LOCAL_RANK: rank,
        WORLD_SIZE: count,
        MASTER_ADDR: '127.0.0.1',
        MASTER_PORT: port,
      };
      for (const [name, value] of Object.entries(env)) harness.env[name] = String(value);
      return harness.start('main.py', ...words);
    });
  };
  let printed = '';
  for (const [count, code] of [
    [4, 85],
    [2, 85],
    [1, 0],
  ] as const) {
    const processes = await start(count);
    if (code !== 0) {
      // They may agree on a batch half a second ahead: enough epochs are left.
      await processes[0]!.until('Train Epoch: ');
      for (const one of processes) one.kill('SIGTERM');
    }
    const ends = await Promise.all(processes.map(({ ended }) => ended));
    const codes = ends.map((one) => one.code);
    assert.deepEqual(codes, Array(count).fill(code), ends.map(({ err }) => err).join(''));
    printed += ends[0]!.out;
  }
  assert.deepEqual(
    printed.match(/^Train Epoch: .+\]/gm),
    Array.from({ length: 8 }, (_, epoch) =>
      [4, 8, 12].map((seen) => `Train Epoch: ${epoch + 1}/8 [${seen}/12]`),
    ).flat(),
  );
  const checked = await harness.run('check_model.py', '--epochs', '8');
  assert.equal(checked.code, 0, checked.err);
});

for (const [what, damage, reported] of [
  [
    'a broken JPEG',
    // The first image of the shard, without its first bytes.
    (shard: Buffer) => shard.fill(0, shard.indexOf('JFIF') - 6, shard.indexOf('JFIF') + 4),
    /^n0\d+\/n0\d+_\d+ cannot be decoded/,
  ],
  ['a damaged shard', (shard: Buffer) => shard.fill(1, 0, 512), /0\.tar is damaged, or no tar, at byte 0/],
] as const)
  test(`ImageNet: ${what} is named in a one-line error, and ends the training`, async (t) => {
    const harness = await open(t);
    if (harness === undefined) return;
    const shard = path.join(await onLaptop(harness), 'train/0.tar');
    await writeFile(shard, damage(await readFile(shard)));
    // A worker process decodes images, and prints its own errors.
    const run = await harness.run('main.py', ...small, '--workers', '1');
    assert.equal(run.code, 1, run.out);
    assert.match(run.err, reported);
    assert.equal(run.err.trim().split('\n').length, 1, run.err);
  });

test('ImageNet: an image of a class that is not listed ends the training', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  await onLaptop(harness);
  await writeFile(path.join(harness.folder, 'classes.txt'), 'n01440764\nn01443537\n');
  const run = await harness.run('main.py', ...small);
  assert.equal(run.code, 1, run.out);
  assert.match(run.err, /^n01484850\/n01484850_\d+ is of no known class\n$/);
});
