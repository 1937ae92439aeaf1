import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeCode } from '../../../test/check/facts.ts';
import { usesOf } from './read-code.ts';

function uses(sent: Record<string, string>, command?: string) {
  const { tools, modules, pythons } = usesOf(makeCode(sent, command), Object.keys(sent));
  const show = (all: typeof tools): string[] =>
    all.map(({ name, place, isCertain }) => `${place.file}:${place.line} ${name}${isCertain ? '' : '?'}`);
  return { tools: show(tools), modules: show(modules), pythons };
}

test('the programs of a script are tools; builtins and its own functions are not', () => {
  const script = `#!/bin/bash
set -euo pipefail
clean() { rm -rf tmp; }
export A=1
if [ -d x ]; then cd x; fi
for f in *.zip; do unzip -q "$f"; done
A=2 env B=3 python3 -u train.py | tee log
clean
`;
  assert.deepEqual(uses({ 'run.sh': script }, 'bash run.sh').tools, [
    'updraft.toml:3 bash',
    'run.sh:3 rm',
    'run.sh:6 unzip',
    'run.sh:7 env',
    'run.sh:7 python3',
    'run.sh:7 tee',
  ]);
});

test('a tool that the script tests for is not used; one it can do without is not certain', () => {
  const script = '#!/bin/sh\ncommand -v aria2c && aria2c x\nxz -d x || true\nnvidia-smi\nnode=$(hostname)\n';
  assert.deepEqual(uses({ 'run.sh': script }, './run.sh').tools, ['run.sh:3 xz?']);
});

test('imports are followed from file to file, and files that are sent do not count as modules', () => {
  const sent = {
    'src/train.py': 'import torch, helper\nfrom pkg.sub import x\nfrom .near import y\n',
    'src/helper.py': 'import scipy.io\n',
    'src/pkg/sub.py': 'def f():\n    import tqdm\n',
    'src/near.py': 'try:\n  import wandb\nexcept ImportError:\n  pass\n',
    'src/unused.py': 'import tensorflow\n',
  };
  assert.deepEqual(uses(sent, 'cd src && python3 train.py').modules, [
    'src/train.py:1 torch',
    'src/helper.py:1 scipy',
    'src/pkg/sub.py:2 tqdm?',
  ]);
});

test('a module run with -m is used, unless it is sent with the job', () => {
  const found = uses(
    { 'mine/__main__.py': '' },
    'python3.12 -m torch.distributed.run x.py && python -m mine',
  );
  assert.deepEqual(found.modules, ['updraft.toml:3 torch']);
  assert.deepEqual(found.pythons, ['python3.12', 'python']);
});

test('commands in sh -c and in substitutions are found', () => {
  assert.deepEqual(uses({}, `sh -c 'wget x && tar xf x' ; echo $(nproc)`).tools, [
    'updraft.toml:3 sh',
    'updraft.toml:3 wget',
    'updraft.toml:3 tar',
    'updraft.toml:3 nproc',
  ]);
});

test('what a file needs that only a function imports is not certain, unless another file needs it', () => {
  const sent = {
    'train.py': 'def log():\n    import board\ndef f():\n    import both\nimport both\n',
    'board.py': 'import tensorflow\n',
    'both.py': 'import numpy\n',
  };
  assert.deepEqual(uses(sent).modules, ['board.py:1 tensorflow?', 'both.py:1 numpy']);
});

test('a module that imports itself, as its own program, is there; one in a package imports another', () => {
  const sent = {
    'train.py': 'import drop\nimport pkg.datasets\n',
    'drop.py': 'if __name__ == "__main__":\n    from drop import x\n',
    'pkg/datasets.py': 'import datasets\n',
  };
  assert.deepEqual(uses(sent).modules, ['pkg/datasets.py:1 datasets']);
});
