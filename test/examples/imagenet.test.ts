import assert from 'node:assert/strict';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { ExampleHarness, sharedFolder } from './example-harness.ts';

const modules = ['torch', 'numpy', 'PIL'];
const open = (t: TestContext): Promise<ExampleHarness | undefined> =>
  ExampleHarness.open(t, 'imagenet-resnet50', modules);
/** The smallest training that is still ResNet-50 on class folders. */
const small = '--batch-size 8 --image-size 32 --held-out 0.2 --mix 8 --workers 0 --log-interval 1'.split(' ');

/** Class folders as the agent unpacks them: three classes of six images. */
const classFolders = sharedFolder(async (harness) => {
  const made = await harness.run('make_data.py', 'small.tar', '--classes', '3', '--images-per-class', '6');
  assert.equal(made.code, 0, made.err);
  const script = `
import sys, tarfile, io, os
for entry in tarfile.open("small.tar"):
    folder = os.path.join("data", entry.name[:-4])
    tarfile.open(fileobj=io.BytesIO(tarfile.open("small.tar").extractfile(entry.name).read())).extractall(folder)
`;
  await writeFile(path.join(harness.folder, 'unpack.py'), script);
  const done = await harness.run('unpack.py');
  assert.equal(done.code, 0, done.err);
  return path.join(harness.folder, 'data');
});
const unpacked = (harness: ExampleHarness): Promise<string> => classFolders(harness, 'data');

test(
  'ImageNet: the commands in the README give a valid ResNet-50 on this machine',
  { timeout: 600_000 },
  async (t) => {
    const harness = await open(t);
    if (harness === undefined) return;
    const { code, err } = await harness.followPage('examples/imagenet-resnet50/README.md');
    assert.equal(code, 0, err);
    const { state, results } = await harness.result();
    assert.equal(state.tally.success, 1);
    const agent = state.jobs[0]?.attempts[0]?.agent;
    assert.equal(agent?.fetches[0]?.unpackedFiles, 48);
    assert.deepEqual([agent.training?.epoch, agent.training?.epochs], [2, 2]);
    assert.ok(agent.training?.accuracy !== undefined && agent.training.loss !== undefined);
    const metrics = await harness.metrics();
    assert.equal((metrics['epochs'] as unknown[]).length, 2);
    const classes = (await readFile(path.join(results, 'classes.txt'), 'utf8')).trim().split('\n');
    assert.deepEqual(classes, classes.toSorted());
  },
);

test('ImageNet: classes are numbered by name, in whatever order they arrive', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  const data = await unpacked(harness);
  const later = path.join(harness.folder, 'later');
  await rename(path.join(data, 'n01440764'), later);
  await writeFile(path.join(data, '.arriving'), '');
  const training = harness.start('main.py', '--epochs', '1', '--save-model', ...small);
  await training.until('Train Epoch: 1/1');
  await rename(later, path.join(data, 'n01440764'));
  await rm(path.join(data, '.arriving'));
  const { code, err } = await training.ended;
  assert.equal(code, 0, err);
  const classes = await readFile(path.join(harness.folder, 'classes.txt'), 'utf8');
  assert.equal(classes, 'n01440764\nn01443537\nn01484850\n');
});

test('ImageNet: images of all classes may arrive mixed, and each is used once', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  const script = `
import os
import images
def come(*names):
    for name in names:
        os.makedirs(os.path.join("mixed", os.path.dirname(name)), exist_ok=True)
        open(os.path.join("mixed", name), "w").close()
come(".arriving", "b/1.jpeg", "a/1.jpeg")
folders = images.ClassFolders("mixed", 32, 0.5)
assert folders.scan() and folders.scan()
come("a/2.jpeg", "b/2.jpeg", "b/3.jpeg", "c/1.jpeg")
folders.scan()
come("c/2.jpeg")
os.remove("mixed/.arriving")
assert not folders.scan()
folders.finish(3)
items = folders.training + folders.validation
assert sorted(path for path, _ in items) == sorted("mixed/" + name for name in
    ["a/1.jpeg", "a/2.jpeg", "b/1.jpeg", "b/2.jpeg", "b/3.jpeg", "c/1.jpeg", "c/2.jpeg"]), items
assert all(folders.classes[label] == path.split("/")[1] for path, label in items), items
`;
  await writeFile(path.join(harness.folder, 'mixed.py'), script);
  const { code, err } = await harness.run('mixed.py');
  assert.equal(code, 0, err);
});

test('ImageNet: if classes arrive one by one, each image is new once, and early classes keep being used', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  const script = `
import images
class BatchIterator(images.ClassFolders):
    def scan(self):
        label = len(self.training) // 4
        self.training.extend((f"{label}/{number}", label) for number in range(4))
        return label < 39
batches = list(images.arriving_batches(BatchIterator(".", 32), 4, 4, 0, lambda: False))
used = []
for batch in batches:
    again = [item for item in batch if not item[3]]
    assert all(item[:2] in used for item in again), batch
    used.extend(item[:2] for item in batch if item[3])
assert len(used) == len(set(used)) == 160, used
late = [label for batch in batches[-20:] for _, label, *_ in batch]
assert min(late) < 20 and len(set(late)) > 15, late
assert sum(map(len, batches)) <= 320, len(batches)
`;
  await writeFile(path.join(harness.folder, 'sorted.py'), script);
  const { code, err } = await harness.run('sorted.py');
  assert.equal(code, 0, err);
});

test('ImageNet: initial weights are loaded completely, except for the last layer before classes have numbers', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  const script = `
import os, sys
import torch
import main
sys.argv = ["main.py", "--data-dir", "arrived"]
def begun(seed):
    torch.manual_seed(seed)
    return main.Training(main.parse_arguments(), torch.device("cpu"))
published = begun(1).model.state_dict()
torch.save(published, "weights.pth")
def taken():
    training = begun(2)
    training.start_from("weights.pth")
    return [name for name, value in training.model.state_dict().items() if torch.equal(value, published[name])]
assert len(taken()) == len(published)
os.makedirs("arrived")
open("arrived/.arriving", "w").close()
assert set(published) - set(taken()) == {"fc.weight", "fc.bias"}
open("weights.pth", "w").write("<html>Sign in</html>")
taken()
`;
  await writeFile(path.join(harness.folder, 'weights.py'), script);
  const { code, err } = await harness.run('weights.py');
  assert.equal(code, 1, err);
  assert.match(err, /^weights\.pth holds no weights of ResNet-50: .+\n$/);
});

test('ImageNet: renumbering the classes moves scores and momentum without changing them', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  await writeFile(
    path.join(harness.folder, 'renumber.py'),
    `
import sys
import torch
import main
sys.argv = ["main.py", "--data-dir", "."]
training = main.Training(main.parse_arguments(), torch.device("cpu"))
training.model.eval()
images = torch.rand(2, 3, 32, 32)
training.model(images).sum().backward()
training.optimizer.step()
before = training.model(images)
momentum = training.optimizer.state[training.model.fc.bias]["momentum_buffer"].clone()
training.renumber([2, 0, 1])
after = training.model(images)
assert torch.allclose(after[:, :3], before[:, [2, 0, 1]], atol=1e-5)
assert torch.equal(after[:, 3:], before[:, 3:])
assert torch.equal(training.optimizer.state[training.model.fc.bias]["momentum_buffer"][:3], momentum[[2, 0, 1]])
`,
  );
  const { code, err } = await harness.run('renumber.py');
  assert.equal(code, 0, err);
});

test('ImageNet: a training that gets SIGTERM saves, exits with 85, and resumes there', async (t) => {
  const harness = await open(t);
  if (harness === undefined) return;
  await unpacked(harness);
  const training = harness.start('main.py', '--epochs', '1', ...small);
  await training.until('Train Epoch: 1/1');
  training.kill('SIGTERM');
  const stopped = await training.ended;
  assert.equal(stopped.code, 85, stopped.err);
  const again = await harness.run('main.py', '--epochs', '1', ...small);
  assert.equal(again.code, 0, again.err);
  assert.match(again.out, /Resuming in epoch 1 after \d+ images/);
});

for (const [what, damage, reported] of [
  [
    'an empty class folder',
    async (data: string) => await mkdir(path.join(data, 'n01999999')),
    /the class folder \S*n01999999 has no images/,
  ],
  [
    'a broken JPEG',
    async (data: string) => await writeFile(path.join(data, 'n01440764/n01440764_0.JPEG'), 'no image'),
    /n01440764_0\.JPEG cannot be decoded/,
  ],
  [
    'fewer classes than expected',
    async (data: string) => await rm(path.join(data, 'n01440764'), { recursive: true }),
    /data has 2 classes, 3 were expected/,
  ],
] as const)
  test(
    `ImageNet: ${what} is named in a one-line error, and ends the training`,
    { timeout: 600_000 },
    async (t) => {
      const harness = await open(t);
      if (harness === undefined) return;
      const data = await unpacked(harness);
      await damage(data);
      const classes = what === 'an empty class folder' ? '4' : '3';
      // A worker process decodes images, and prints its own errors.
      const workers = what === 'a broken JPEG' ? ['--workers', '1'] : [];
      const words = ['--epochs', '1', '--expect-classes', classes, ...small, ...workers];
      const run = await harness.run('main.py', ...words);
      assert.equal(run.code, 1, run.out);
      assert.match(run.err, reported);
      assert.equal(run.err.trim().split('\n').length, 1, run.err);
    },
  );
