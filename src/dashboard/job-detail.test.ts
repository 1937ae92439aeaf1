import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { imagenetRun } from '../../test/dashboard/imagenet-run.ts';
import { folderRun } from '../../test/dashboard/served.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { loadRun } from '../journal/load-run.ts';
import { jobDetail } from './job-detail.ts';

test('an attempt tells what it saved, what it resumed from, and what its machine lacked', async (t) => {
  const folder = path.join(await temporaryFolder(t), 'imagenet-k3v9q1');
  await imagenetRun(folder, Date.now(), 3);
  const job = (await loadRun(folder)).jobs[2];
  assert.ok(job?.attempts[0]?.agent);
  job.attempts[0].agent.lacks = [{ name: 'gpu', said: 'nvidia-smi: no\u001b[31m devices' }];
  const [first, second] = (await jobDetail(folderRun(folder), job, Date.now())).attempts;
  assert.match(first?.notes[0] ?? '', /^The machine failed the test "gpu": nvidia-smi: no/);
  assert.doesNotMatch(first?.notes[0] ?? '', /\u001b/);
  assert.match(first?.notes[1] ?? '', /^Its last checkpoint \(epoch 2\) was saved at .*98 MB\.$/);
  assert.match(second?.notes[0] ?? '', /^It resumed from epoch 2 of attempt 1, and has gone past it\.$/);
});
