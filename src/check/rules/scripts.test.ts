import assert from 'node:assert/strict';
import { test } from 'node:test';
import { applyRules } from '@updraft/base';
import { someFacts } from '../../../test/check/facts.ts';
import { scriptFileRules } from './scripts.ts';

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

test('processes of the agent are not combined with a launcher', () => {
  for (const code of ['mp.spawn(main, nprocs=2)', '# torchrun train.py'])
    assert.match(said('processes = 2', 'cpus = 2', code), /starts processes of its own, in each of the 2/);
});
