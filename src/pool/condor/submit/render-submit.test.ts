import assert from 'node:assert/strict';
import { test } from 'node:test';
import { temporaryFolder } from '../../../../test/temporary-folder.ts';
import { loadPlan } from '../../../job/load-plan.ts';
import { condorProfiles } from './profiles.ts';
import { renderSubmit } from './render-submit.ts';

test('a job keeps its name in the queue when it is submitted again without the others', async (t) => {
  const folder = await temporaryFolder(t, {
    'updraft.toml': [
      'name = "r"\n[train]\ncommand = "t {model} {lr}"\noutputs = ["o"]',
      '[run]\nmatrix = { model = ["bert-base-uncased", "distilbert-base-uncased"], lr = [0.1] }\n',
    ].join('\n'),
  });
  const input = {
    ...{ plan: await loadPlan(folder), profile: condorProfiles.mini },
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
