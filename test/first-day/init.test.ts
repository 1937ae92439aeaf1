import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import * as check from '../../src/cli/commands/check.ts';
import * as env from '../../src/cli/commands/env.ts';
import * as init from '../../src/cli/commands/init.ts';
import { readSpec } from '../../src/job/read-spec.ts';
import { runCommand } from '../cli/run-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';

/** A new user's script: argparse, a folder of images, a module of its own, no checkpoints. Only the standard library. */
const script = `"""Trains on a folder of images."""
import argparse
import json
import os

from model import build

parser = argparse.ArgumentParser()
parser.add_argument("--data", default="images", help="folder with one folder per class")
parser.add_argument("--epochs", type=int, default=3)
parser.add_argument("--lr", type=float, default=0.1)
parser.add_argument("--out", default="/home/me/results")
args = parser.parse_args()

os.makedirs(args.out, exist_ok=True)
classes = sorted(os.listdir(args.data))
device = "cuda" if os.environ.get("GPU") else "cpu"
for epoch in range(args.epochs):
    print(f"Epoch: {epoch + 1}/{args.epochs} loss: {1 / (epoch + 1):.3f}", flush=True)
with open(os.path.join(args.out, "model.json"), "w") as file:
    json.dump(build(classes), file)
`;
const model = 'def build(classes):\n    return {"classes": classes}\n';

async function project(
  t: Parameters<typeof temporaryFolder>[0],
  more: Record<string, string> = {},
): Promise<string> {
  const cwd = await temporaryFolder(t, { 'train.py': script, 'model.py': model, ...more });
  await mkdir(path.join(cwd, 'images', 'cat'), { recursive: true });
  await writeFile(path.join(cwd, 'images', 'cat', '1.jpg'), 'x');
  return cwd;
}

const jobFile = async (cwd: string): Promise<string> =>
  await readFile(path.join(cwd, 'updraft.toml'), 'utf8');

test("a script of one's own: its arguments, data, modules and outputs are in the job file, which passes check", async (t) => {
  const cwd = await project(t);
  const { out, err } = await runCommand(init, ['train.py'], { cwd });
  assert.equal(out, 'updraft.toml\n');
  const spec = readSpec(await jobFile(cwd), 'updraft.toml');
  assert.equal(spec.train.command, 'python3 train.py --out out --epochs 3');
  assert.deepEqual(spec.train.files, ['train.py', 'model.py']);
  assert.deepEqual(spec.train.outputs, ['out/model.json']);
  assert.deepEqual(
    spec.data.map(({ url, into }) => [url, into]),
    [['images', 'images']],
  );
  assert.match(err, /--out out .*instead of \/home\/me\/results, which no worker has/);
  assert.match(err, /data images .*read by os\.listdir/);
  assert.match(err, /outputs out\/model\.json .*open \(train\.py:20\)/);
  assert.match(err, /no checkpoint to resume from.*updraft docs checkpoints/);
  // What init writes, check finds nothing wrong with: a guessed time is short enough to lose.
  assert.match(
    (await runCommand(check, [], { cwd })).out,
    /^nothing wrong so far: .*1 job on the pool "local"/,
  );
});

test("init in a folder with a script of one's own reads it and says so; a template must be asked for", async (t) => {
  const cwd = await project(t);
  const { err } = await runCommand(init, [], { cwd });
  assert.match(
    err,
    /^train\.py is here: reading it \(to start from a template instead: --template minimal\|/,
  );
  assert.match(await jobFile(cwd), /# Made from train\.py by updraft init/);
  await assert.rejects(runCommand(init, ['train.py'], { cwd }), { kind: 'file-invalid', fix: /--force/ });
  await runCommand(init, ['--force', '-t', 'minimal'], { cwd });
  assert.match(await jobFile(cwd), /name = "minimal"/);
});

test('several scripts are named, and none is chosen', async (t) => {
  const save = 'import torch\ntorch.save(1, "model.pt")\n';
  const cwd = await temporaryFolder(t, { 'alpha.py': save, 'beta.py': save });
  const { err } = await runCommand(init, [], { cwd });
  assert.match(err, /^there are alpha\.py, beta\.py; to read one: updraft init alpha\.py/);
});

test('a GPU is requested on a pool only, and more files can be named', async (t) => {
  const cwd = await project(t, { 'labels.csv': 'a' });
  await runCommand(init, ['train.py', 'labels.csv', '--pool', 'condor'], { cwd });
  const spec = readSpec(await jobFile(cwd), 'updraft.toml');
  assert.equal(spec.resources.gpus, 1);
  assert.deepEqual(spec.train.files, ['train.py', 'model.py', 'labels.csv']);
});

test('what only the user knows is marked, and said', async (t) => {
  const source =
    'import argparse\np = argparse.ArgumentParser()\np.add_argument("--data-dir", required=True)\np.add_argument("--arch", required=True)\np.parse_args()\n';
  const cwd = await temporaryFolder(t, { 'train.py': source });
  const { err } = await runCommand(init, ['train.py'], { cwd });
  assert.match(err, /to fill in:\n(.*\n)*.*--arch CHANGE-ME/);
  assert.match(err, /\[data\.data\] url/);
  assert.match(
    err,
    /outputs +train\.py saves nothing.*\n?.*torch\.save\(model\.state_dict\(\), "model\.pt"\)/,
  );
  assert.match(await jobFile(cwd), /outputs = \["CHANGE-ME"\] +# FILL IN/);
});

test('a script that is not there is named', async (t) => {
  const cwd = await temporaryFolder(t);
  await assert.rejects(runCommand(init, ['trian.py'], { cwd }), {
    kind: 'file-invalid',
    message: /trian\.py/,
  });
});

test('requirements.txt: init names the one command that makes its software, which writes a manifest', async (t) => {
  const cwd = await project(t, {
    'requirements.txt': 'torch==2.3.1\npillow\n-e .\n',
    'model.py': 'import torch\n',
  });
  const { err } = await runCommand(init, ['train.py'], { cwd });
  assert.match(err, /updraft env make requirements\.txt -e gpu/);
  const made = await runCommand(env, ['make', 'requirements.txt', '--manifest-only'], { cwd });
  assert.match(made.err, /wrote pixi\.toml\nnot carried over: -e \.: your own code travels with each job/);
  assert.match(
    await readFile(path.join(cwd, 'pixi.toml'), 'utf8'),
    /torch = \{ version = "==2\.3\.1", index = /,
  );
  await assert.rejects(
    runCommand(env, ['make', 'requirements.txt'], { cwd, env: { PATH: '/nonexistent' } }),
    {
      message: /pixi/,
      fix: /install Pixi/,
    },
  );
});

test('without a file that describes the software, env make names the commands that write one', async (t) => {
  const cwd = await project(t, { 'model.py': 'import numpy\n' });
  await assert.rejects(runCommand(env, ['make'], { cwd, env: { VIRTUAL_ENV: '/venv' } }), {
    kind: 'usage',
    fix: /pip freeze > requirements\.txt, conda env export .*poetry export/,
  });
});

test('arguments of a parser that init does not read are left to the user, by its name', async (t) => {
  const cwd = await temporaryFolder(t, {
    'train.py':
      'import typer\n\ndef main(lr: float = typer.Option(0.1)):\n    open("model.pt", "w")\n\ntyper.run(main)\n',
  });
  const { err } = await runCommand(init, ['train.py'], { cwd });
  assert.match(err.replaceAll(/\s+/g, ' '), /its arguments are those of typer, .* write them into `command`/);
});

for (const [what, code] of [
  ['torch.distributed', 'dist.init_process_group("gloo")'],
  ['DistributedDataParallel', 'model = nn.parallel.DistributedDataParallel(model)'],
  ['Lightning', 'trainer = L.Trainer(max_epochs=3, devices=2)'],
  ['accelerate', 'accelerator = Accelerator()'],
] as const)
  test(`init has the agent start the processes of a script with ${what}`, async (t) => {
    const cwd = await temporaryFolder(t, { 'train.py': `import torch\n${code}\nopen("model.pt", "w")\n` });
    const processes = async (...words: string[]) => {
      await runCommand(init, ['train.py', '--force', ...words], { cwd });
      return readSpec(await jobFile(cwd), 'updraft.toml').train.processes;
    };
    assert.deepEqual([await processes(), await processes('--pool', 'condor')], [1, 'gpus']);
    const spawns = `${code}\nimport torch.multiprocessing as mp\nmp.spawn(main, nprocs=2)\n`;
    await writeFile(path.join(cwd, 'train.py'), spawns);
    assert.equal(await processes('--pool', 'condor'), undefined);
  });

const training = (...lines: string[]): string => ['import argparse, os, torch', ...lines, ''].join('\n');
const parsed = (...flags: string[]): string[] => [
  'parser = argparse.ArgumentParser()',
  ...flags.map((flag) => `parser.add_argument(${flag})`),
  'args = parser.parse_args()',
];

test('what a name is made of may change with the command: its folder is the output', async (t) => {
  const name = 'f"save/{args.model}_lr_{args.lr}.pt"';
  const cwd = await temporaryFolder(t, {
    'train.py': training(
      ...parsed('"--model", default="resnet18"', '"--lr", default=0.1'),
      'os.makedirs("save")',
      `torch.save({}, ${name})`,
    ),
  });
  await runCommand(init, ['train.py'], { cwd });
  assert.deepEqual(readSpec(await jobFile(cwd), 'updraft.toml').train.outputs, ['save']);
});

test('a cache, and what a module writes when it is started itself, are no outputs', async (t) => {
  const cwd = await temporaryFolder(t, {
    'train.py': training(
      'import prepare',
      'if not os.path.exists("cache.npy"):',
      '    torch.save({}, "cache.npy")',
      'torch.save({}, "model.pt")',
    ),
    'prepare.py': training('if __name__ == "__main__":', '    torch.save({}, "vocab.pt")'),
  });
  await runCommand(init, ['train.py'], { cwd });
  assert.deepEqual(readSpec(await jobFile(cwd), 'updraft.toml').train.outputs, ['model.pt']);
});

test('a folder to load from is not made up, and no folder stands for a required file', async (t) => {
  const cwd = await temporaryFolder(t, {
    'train.py': training(
      ...parsed(
        '"--load-folder", default=""',
        '"--train-file", required=True',
        '"--work-path", required=True',
      ),
      'config = open(args.work_path + "/config.yaml")',
      'encoder = os.path.join(args.load_folder, "encoder.pt")',
      'torch.save({}, "model.pt")',
    ),
    'data/train.h5': '',
  });
  await runCommand(init, ['train.py'], { cwd });
  const { command } = readSpec(await jobFile(cwd), 'updraft.toml').train;
  assert.equal(command, 'python3 train.py --train-file CHANGE-ME --work-path CHANGE-ME');
});

test('a script without .py is read, and modules that it finds beside another are sent', async (t) => {
  const cwd = await temporaryFolder(t, {
    train: training(
      'import sys',
      'sys.path.append("parts")',
      'from parts import model',
      'torch.save({}, "model.pt")',
    ),
    'parts/model.py': 'import layers\n',
    'parts/layers.py': '',
  });
  await runCommand(init, ['train'], { cwd });
  const { train, environment } = readSpec(await jobFile(cwd), 'updraft.toml');
  assert.deepEqual(train.files, ['train', 'parts']);
  assert.deepEqual(environment.python, ['torch']);
});

test('data at the place of the file is found, and a script that looks above its folder is sent there', async (t) => {
  const cwd = await temporaryFolder(t, {
    'top/own/train.py':
      'import sys\nfrom os import path\nimport os\nfrom tools.load import load\n' +
      'sys.path.append(path.dirname(path.dirname(path.abspath(__file__))))\n' +
      'for name in os.listdir(path.join(path.dirname(__file__), "images")): pass\nopen("m.txt", "w")\n',
    ...{
      'top/tools/load.py': 'def load(): pass\n',
      'top/tools/__init__.py': '',
      'top/own/images/1.jpg': 'x',
    },
  });
  const inside = await runCommand(init, ['train.py'], { cwd: path.join(cwd, 'top/own') });
  assert.match(inside.err, /tools is in the folder above, .*updraft init own\/train\.py, there/);
  const top = path.join(cwd, 'top');
  await runCommand(init, ['own/train.py'], { cwd: top });
  const { train, data } = readSpec(await jobFile(top), 'updraft.toml');
  assert.deepEqual(train.files, ['own/train.py', 'tools']);
  assert.deepEqual(
    data.map(({ into }) => into),
    ['own/images'],
  );
});

test('the arguments that a user types are in the command, and decide what is read and saved', async (t) => {
  const cwd = await temporaryFolder(t, {
    'train.py':
      'p.add_argument("path")\np.add_argument("--net", required=True)\np.add_argument("--epochs", default=9)\n' +
      'datasets.ImageFolder(args.path)\nif args.net == "b": torch.save(m, "b.pt")\nelse: torch.save(m, "a.pt")\n',
    'pictures/1.jpg': 'x',
  });
  await runCommand(init, ['train.py', '--args', 'pictures --net b'], { cwd });
  const { train, data } = readSpec(await jobFile(cwd), 'updraft.toml');
  assert.equal(train.command, 'python3 train.py --epochs 9 pictures --net b');
  assert.deepEqual([train.outputs, data.map(({ into }) => into)], [['b.pt'], ['pictures']]);
});
