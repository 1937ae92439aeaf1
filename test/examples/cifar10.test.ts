import assert from 'node:assert/strict';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { ExampleHarness, sharedFolder } from './example-harness.ts';

const examples = path.resolve(import.meta.dirname, '../../examples');
const open = (t: TestContext): Promise<ExampleHarness | undefined> =>
  ExampleHarness.open(t, 'cifar10-resnet', ['torch', 'numpy']);
/** The archive's folder as the agent unpacks it. */
const archive = sharedFolder(async (harness) => {
  const made = await harness.run('make_data.py', '--images-per-batch', '20');
  assert.equal(made.code, 0, made.err);
  const script = 'import tarfile\ntarfile.open("published/cifar-10-python.tar.gz").extractall("data")\n';
  await writeFile(path.join(harness.folder, 'unpack.py'), script);
  assert.equal((await harness.run('unpack.py')).code, 0);
  return path.join(harness.folder, 'data/cifar-10-batches-py');
});
const unpacked = (harness: ExampleHarness): Promise<string> => archive(harness, 'data/cifar-10-batches-py');
const small = '--epochs 1 --device cpu --width 4 --batch-size 4 --log-interval 1'.split(' ');

test('CIFAR-10: the commands in the README of the ResNet give a valid result on this machine', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  const { code, err } = await harness.followPage('examples/cifar10-resnet/README.md');
  assert.equal(code, 0, err);
  const { state } = await harness.result();
  const agent = state.jobs[0]?.attempts[0]?.agent;
  assert.deepEqual([agent?.fetches[0]?.unpackedFiles, agent?.training?.epoch], [8, 2]);
  assert.equal(((await harness.metrics())['history'] as unknown[]).length, 2);
});

test('CIFAR-10: the commands in the README of the small network give a valid result on this machine', async (t) => {
  const harness = await ExampleHarness.open(t, 'cifar10', ['torch', 'numpy']);
  if (harness === undefined) return;
  const { code, err } = await harness.followPage('examples/cifar10/README.md');
  assert.equal(code, 0, err);
  assert.equal((await harness.result()).state.tally.success, 1);
});

test('CIFAR-10: both examples generate their data in the same way', async () => {
  const makers = ['cifar10', 'cifar10-resnet'].map((name) => path.join(examples, name, 'make_data.py'));
  const [one, other] = await Promise.all(makers.map((file) => readFile(file, 'utf8')));
  assert.equal(one, other);
});

test('CIFAR-10: training on a batch starts as soon as it has arrived', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  const folder = await unpacked(harness);
  const data = path.dirname(folder);
  const later = path.join(harness.folder, 'later');
  await mkdir(later);
  const names = ['data_batch_1', 'data_batch_2', 'data_batch_3', 'test_batch'];
  for (const name of names) await rename(path.join(folder, name), path.join(later, name));
  await writeFile(path.join(data, '.arriving'), '');
  const training = harness.start('cifar10_resnet.py', ...small);
  await training.until('[36/100');
  for (const name of names) await rename(path.join(later, name), path.join(folder, name));
  await rm(path.join(data, '.arriving'));
  const { code, err } = await training.ended;
  assert.equal(code, 0, err);
});

test('CIFAR-10: a training that gets SIGTERM while it waits saves, exits with 85, and resumes there', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  const folder = await unpacked(harness);
  const marker = path.join(path.dirname(folder), '.arriving');
  const [kept, away] = ['data_batch_5', 'later_batch_5'].map((name) => path.join(folder, name));
  await rename(kept!, away!);
  await writeFile(marker, '');
  const training = harness.start('cifar10_resnet.py', ...small);
  await training.until('[76/100');
  training.kill('SIGTERM');
  const stopped = await training.ended;
  assert.equal(stopped.code, 85, stopped.err);
  await rename(away!, kept!);
  await rm(marker);
  const again = await harness.run('cifar10_resnet.py', ...small);
  assert.equal(again.code, 0, again.err);
  assert.match(again.out, /Resuming in epoch 1 with [1-4] batches to go/);
});

test('CIFAR-10: a training that gets SIGTERM within a batch resumes at the next step', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  await unpacked(harness);
  const training = harness.start('cifar10_resnet.py', ...small);
  await training.until('[4/100');
  training.kill('SIGTERM');
  const stopped = await training.ended;
  assert.equal(stopped.code, 85, stopped.err);
  const again = await harness.run('cifar10_resnet.py', ...small);
  assert.equal(again.code, 0, again.err);
  const reported = [...`${stopped.out}${again.out}`.matchAll(/\[(\d+)\/100/g)].map(([, seen]) =>
    Number(seen),
  );
  assert.deepEqual(
    reported,
    Array.from({ length: 25 }, (_, step) => 4 * step),
  );
});

test('CIFAR-10: an unreadable checkpoint is named in a one-line error', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  await mkdir(path.join(harness.folder, 'checkpoints'));
  await writeFile(path.join(harness.folder, 'checkpoints/checkpoint.pt'), 'cut off');
  const run = await harness.run('cifar10_resnet.py', ...small);
  assert.equal(run.code, 1, run.out);
  assert.match(
    run.err,
    /^checkpoints\/checkpoint\.pt is not a checkpoint of this training; remove it to start over: .+\n$/,
  );
});

for (const [what, damage, words] of [
  ['is missing', (file: string) => rm(file), /data_batch_2 is not there, and no more data is to come/],
  [
    'is something else',
    (file: string) => writeFile(file, '<html>Sign in</html>'),
    /data_batch_2 is no batch of CIFAR-10/,
  ],
] as const)
  test(`CIFAR-10: a batch that ${what} is named in a one-line error`, async (t) => {
    const harness = await open(t);
    if (harness === undefined) return;
    const folder = await unpacked(harness);
    await damage(path.join(folder, 'data_batch_2'));
    const run = await harness.run('cifar10_resnet.py', ...small);
    assert.equal(run.code, 1, run.out);
    assert.match(run.err, words);
    assert.equal(run.err.trim().split('\n').length, 1, run.err);
  });

test('CIFAR-10: a machine without a GPU is refused if one is requested', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  harness.env['CUDA_VISIBLE_DEVICES'] = '';
  const run = await harness.run('cifar10_resnet.py', '--device', 'cuda');
  assert.equal(run.code, 1);
  assert.match(run.err, /no GPU that PyTorch can use/);
});
