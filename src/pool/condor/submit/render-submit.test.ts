import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../../../test/temporary-folder.ts';
import { loadPlan } from '../../../job/load-plan.ts';
import { profileNamed } from './profiles.ts';
import { renderSubmit } from './render-submit.ts';

const mini = await profileNamed('mini', {});

test('a job keeps its name in the queue when it is submitted again without the others', async (t) => {
  const folder = await temporaryFolder(t, {
    'updraft.toml': [
      'name = "r"\n[train]\ncommand = "t {model} {lr}"\noutputs = ["o"]',
      '[run]\nmatrix = { model = ["bert-base-uncased", "distilbert-base-uncased"], lr = [0.1] }\n',
    ].join('\n'),
  });
  const input = {
    ...{ plan: await loadPlan(folder), profile: mini },
    ...{ version: '24.0.1' as const, run: 'r-1', environment: {} },
  };
  const round = { number: 2, jobs: ['0001'], attemptsBefore: new Map([['0001', 1]]) };
  assert.deepEqual(
    [renderSubmit(input), renderSubmit({ ...input, round })].map(({ items }) =>
      items
        .trimEnd()
        .split('\n')
        .map((item) => item.split('\u001f')[1]),
    ),
    [['job 0000 model=bert_', 'job 0001 model=distilbert_'], ['job 0001 model=distilbert_']],
  );
});

test('process N of the queue is job N of the plan, with what that job has of its own', async (t) => {
  const folder = await temporaryFolder(t, {
    'updraft.toml': [
      'name = "r"\n[train]\ncommand = "t {lr}"\noutputs = ["o"]\n[resources]\ncpus = "{cpus}"',
      '[run]\nmatrix = { lr = [1, 2, 3, 4], cpus = [2, 4, 8], seed = [5, 6] }\n',
    ].join('\n'),
  });
  const plan = await loadPlan(folder);
  const { submit, items } = renderSubmit({
    ...{ plan, profile: mini },
    ...{ version: '24.0.1' as const, run: 'r-1', environment: {} },
  });
  const [, names = ''] = /^queue (\S+) from/m.exec(submit) ?? [];
  const [, variable = ''] = /^request_cpus = \$\((\w+)\)$/m.exec(submit) ?? [];
  const at = names.split(',').indexOf(variable);
  const rows = items.trimEnd().split('\n');
  assert.deepEqual(
    rows.map((row) => [row.split('\u001f')[0], row.split('\u001f')[at]]),
    plan.jobs.map(({ parameters }, index) => [String(index).padStart(4, '0'), String(parameters['cpus'])]),
  );
  assert.deepEqual(
    plan.jobs.map(({ parameters }) => parameters['cpus']).slice(0, 6),
    [2, 4, 8, 2, 4, 8],
    'kinds of jobs take turns',
  );
});
