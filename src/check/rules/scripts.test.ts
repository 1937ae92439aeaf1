import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyRules } from '@updraft/base';
import { someFacts } from '../../../test/check/facts.ts';
import { localPathRules, scriptFileRules } from './scripts.ts';

const rules = scriptFileRules.filter(({ name }) => name === 'processes');

/** What is said of a training with these lines and this code. */
function said(train: string, resources: string, code = 'import torch'): string {
  const here = { syntax: [], notExecutable: new Set<string>() };
  const facts = someFacts(`${train}\n[resources]\n${resources}\n`, { 'train.py': code });
  return applyRules(rules, { ...facts, here } as never)
    .map(({ message, fix }) => `${message}: ${fix}`)
    .join();
}

test('processes that do not fit the GPUs or cores are named, and what to write', () => {
  assert.match(
    said('', 'gpus = 4'),
    /4 GPUs and one process.*processes = "gpus" in \[train\]; if not, gpus = 1/,
  );
  assert.equal(said('processes = "gpus"', 'gpus = 4\ncpus = 8'), '');
  assert.equal(said('', 'gpus = 4', 'model = nn.DataParallel(model)'), '');
  assert.equal(said('', 'gpus = 4', 'mp.spawn(main, nprocs=4)'), '');
  assert.match(said('processes = "gpus"', 'cpus = 2'), /no GPU is requested.*gpus = 2/);
  assert.match(said('processes = 4', 'gpus = 2\ncpus = 8'), /4 processes share 2 GPUs.*processes = "gpus"/);
  assert.match(said('processes = 4', 'cpus = 2'), /4 processes share 2 cores.*cpus = 4/);
  assert.equal(said('', 'gpus = 1'), '');
});

test('a launcher with more processes than GPUs or cores is named', () => {
  const launch = (options: string, resources: string): string => {
    const text = `name = "x"\n[train]\ncommand = "torchrun ${options} train.py"\noutputs = ["m"]\n[resources]\n`;
    const facts = {
      ...someFacts(text + resources),
      here: { syntax: [], notExecutable: new Set(), existing: new Set() },
    };
    return applyRules(rules, facts as never)
      .map(({ message, fix }) => `${message}: ${fix}`)
      .join();
  };
  assert.match(launch('--nproc_per_node=4', 'gpus = 1\ncpus = 4'), /4 processes share 1 GPU: write gpus = 4/);
  assert.match(launch('--nproc-per-node 4', 'cpus = 1'), /4 processes share 1 core/);
  assert.equal(launch('--nproc-per-node 4', 'gpus = 4\ncpus = 4'), '');
  assert.equal(launch('--nproc-per-node gpu', 'gpus = 4\ncpus = 4'), '');
});

/** The rules about paths that a command breaks, and what they advise. */
function pathsOf(command: string, { more = '', existing = [] as string[] } = {}): string[] {
  const text = `name = "x"\n[train]\ncommand = ${JSON.stringify(command)}\noutputs = ["m"]\n${more}`;
  const here = { syntax: [], notExecutable: new Set<string>(), existing: new Set(existing) };
  const facts = { ...someFacts(text, { 'train.py': '' }), here };
  return applyRules([...scriptFileRules, ...localPathRules], facts).map(
    ({ level, rule, fix }) => `${level} ${rule}: ${fix}`,
  );
}

test('paths of the machine that submits are found in a command, whatever the pool', () => {
  const write = 'error script-missing: write train.py in the command';
  assert.deepEqual(pathsOf('python3 /root/train.py'), [write]);
  assert.deepEqual(pathsOf('python3 /root/train.py', { existing: ['/root/train.py'] }), []);
  assert.deepEqual(pathsOf('python3 /app/train.py', { more: '[environment]\nimage = "x.sif"\n' }), []);
  assert.deepEqual(pathsOf('python3 /opt/tool/run.py'), []);
  const own = '/project/train.py';
  assert.deepEqual(pathsOf(`python3 ${own}`, { existing: [own] }), []);
});

test('processes of the agent are not combined with a launcher', () => {
  for (const code of ['mp.spawn(main, nprocs=2)', '# torchrun train.py'])
    assert.match(said('processes = 2', 'cpus = 2', code), /starts processes of its own, in each of the 2/);
});
