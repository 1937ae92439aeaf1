import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runCommand } from '../../../test/cli/run-command.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { jobTemplates } from './init.ts';
import * as check from './check.ts';
import * as init from './init.ts';

for (const template of jobTemplates)
  test(`the template ${template} passes check`, async (t) => {
    const cwd = await temporaryFolder(t);
    const { err } = await runCommand(init, ['--template', template], { cwd });
    for (const [, file = ''] of err.matchAll(/^(.*) does not exist yet/gm))
      await writeFile(path.join(cwd, file), 'mine');
    // Whatever this machine has: there are modules of these names.
    const modules = await temporaryFolder(t, { 'numpy/__init__.py': '', 'torch/__init__.py': '' });
    const env = { PYTHONPATH: modules };
    assert.match((await runCommand(check, [], { cwd, env })).out, /^(ok|nothing wrong so far): /);
    const text = await readFile(path.join(cwd, 'updraft.toml'), 'utf8');
    assert.match(text, /^#:schema file:\/\//);
    await readFile(fileURLToPath(/^#:schema (.*)$/m.exec(text)?.[1] ?? ''));
  });

test('init prints the files it wrote on stdout, and the next commands on stderr', async (t) => {
  const cwd = await temporaryFolder(t);
  const { out, err } = await runCommand(init, ['-t', 'sweep', 'my exp'], { cwd });
  assert.equal(out, 'my exp/updraft.toml\nmy exp/train.py\n');
  assert.match(err, /next:\n {2}updraft check 'my exp' /);
  assert.deepEqual((await readdir(path.join(cwd, 'my exp'))).sort(), ['train.py', 'updraft.toml']);
});

test('an existing job file is replaced only with --force; scripts are always kept', async (t) => {
  const cwd = await temporaryFolder(t, { 'updraft.toml': 'mine', 'train.py': 'mine' });
  await assert.rejects(runCommand(init, ['-t', 'minimal'], { cwd }), {
    kind: 'file-invalid',
    fix: /--force/,
  });
  assert.deepEqual((await readdir(cwd)).sort(), ['train.py', 'updraft.toml']);
  assert.equal(await readFile(path.join(cwd, 'updraft.toml'), 'utf8'), 'mine');
  await runCommand(init, ['-t', 'minimal', '--force'], { cwd });
  assert.match(await readFile(path.join(cwd, 'updraft.toml'), 'utf8'), /name = "minimal"/);
  assert.equal(await readFile(path.join(cwd, 'train.py'), 'utf8'), 'mine');
});

test('init takes the smallest template and says so', async (t) => {
  const { err } = await runCommand(init, [], { cwd: await temporaryFolder(t) });
  assert.match(err, /^template: minimal \(others: --template sweep\|/);
});

test('a folder that cannot be created is reported', async (t) => {
  const cwd = await temporaryFolder(t, { file: '' });
  await assert.rejects(runCommand(init, ['-t', 'minimal', 'file/below'], { cwd }), {
    kind: 'file-invalid',
    message: /file\/below cannot be written/,
  });
});

test('an unknown template is a usage error', async (t) => {
  const cwd = await temporaryFolder(t);
  await assert.rejects(runCommand(init, ['-t', 'nope'], { cwd }), { code: 'commander.invalidArgument' });
  assert.deepEqual(await readdir(cwd), []);
});

test('modules in the folder of the job file are sent and found; those above it are named', async (t) => {
  const files = {
    'own/__init__.py': '',
    'own/net.py': 'import torch\n',
    'tools/train.py': 'import torch\nfrom own.net import x\nimport near\ntorch.save({}, "m.pt")\n',
    'tools/near.py': '',
  };
  const cwd = await temporaryFolder(t, files);
  await runCommand(init, ['tools/train.py'], { cwd });
  const text = await readFile(path.join(cwd, 'updraft.toml'), 'utf8');
  assert.match(text, /^files = \["tools\/train\.py", "own", "tools\/near\.py"\]/m);
  assert.match(text, /^env\.PYTHONPATH = "\." /m);
  assert.match(text, /^python = \["torch"\]/m);
  const tools = path.join(cwd, 'tools');
  const { err } = await runCommand(init, ['train.py'], { cwd: tools });
  assert.match(err, /own is in the folder above, and is not sent from here: updraft init tools\/train\.py/);
  assert.doesNotMatch(await readFile(path.join(tools, 'updraft.toml'), 'utf8'), /PYTHONPATH/);
});

test('a file that a module reads is sent, if it is here', async (t) => {
  const cwd = await temporaryFolder(t, {
    'train.py': 'import torch, utils\nutils.load()\ntorch.save({}, "m.pt")\n',
    'utils.py':
      'import numpy as np\ndef load(path="./data/cora/", name="cora"):\n' +
      '    np.genfromtxt("{}{}.content".format(path, name))\n    np.genfromtxt("{}none.txt".format(path))\n',
    'data/cora/cora.content': '1',
  });
  await runCommand(init, ['train.py'], { cwd });
  const text = await readFile(path.join(cwd, 'updraft.toml'), 'utf8');
  assert.match(text, /^files = \["train\.py", "utils\.py", "data\/cora\/cora\.content"\]/m);
});

test('of outputs whose arguments exclude each other one is taken, and a package is no data set too', async (t) => {
  const cwd = await temporaryFolder(t, {
    'data/__init__.py': 'import torchvision\nsets = torchvision.datasets.MNIST("./data", download=True)\n',
    'train.py': [
      'import argparse, torch, data',
      'p = argparse.ArgumentParser()',
      'p.add_argument("--train", action="store_true")',
      'p.add_argument("--mse", action="store_true")',
      'p.add_argument("--log", action="store_true")',
      'p.add_argument("--id_name", required=True, help="name of this run")',
      'a = p.parse_args()',
      'if a.train:',
      '  if a.mse: torch.save(1, "mse.pt")',
      '  if a.log: torch.save(1, "log.pt")',
      '  torch.save(1, "plain.pt")',
      '',
    ].join('\n'),
  });
  await runCommand(init, ['train.py'], { cwd });
  const text = await readFile(path.join(cwd, 'updraft.toml'), 'utf8');
  assert.match(text, /^command = "python3 train\.py --train --id_name run"$/m);
  assert.match(text, /^outputs = \["plain\.pt"\]/m);
  assert.doesNotMatch(text, /^\[data/m);
});
