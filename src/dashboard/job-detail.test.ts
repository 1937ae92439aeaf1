import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import { imagenetRun } from '../../test/dashboard/imagenet-run.ts';
import { folderRun } from '../../test/dashboard/served.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { type JobState, loadRun, type RunState } from '@updraft/account/journal';
import { explainRunJob, standingWords } from '@updraft/account/why';
import { explainJobs, jobDetail } from './job-detail.ts';
import type { JobDetail } from './page-data.ts';
import type { RunSource } from './run-source.ts';

async function detailOf(source: RunSource, state: RunState, job: JobState): Promise<JobDetail> {
  const [explanation] = await explainJobs(source, state, [job]);
  assert.ok(explanation);
  return jobDetail(source, job, explanation);
}

test('an attempt shows what it saved, what it resumed from, and what its machine lacked', async (t) => {
  const folder = path.join(await temporaryFolder(t), 'imagenet-k3v9q1');
  await imagenetRun(folder, Date.now(), 3);
  const state = await loadRun(folder);
  const job = state.jobs[2];
  assert.ok(job?.attempts[0]?.agent);
  job.attempts[0].agent.lacks = [{ name: 'gpu', said: 'nvidia-smi: no\u001b[31m devices' }];
  const [first, second] = (await detailOf(folderRun(folder), state, job)).attempts;
  assert.match(first?.notes[0] ?? '', /^The machine failed the self-test "gpu": nvidia-smi: no/);
  assert.doesNotMatch(first?.notes[0] ?? '', /\u001b/);
  assert.match(
    first?.notes[1] ?? '',
    /^Its last checkpoint \(epoch 2\) was saved at .*98 MB; 6m14s of work after it were lost\.$/,
  );
  assert.match(second?.notes[0] ?? '', /^It resumed from epoch 2 of attempt 1, and has passed it\.$/);
});

test("a job is explained as by `updraft why`, or by the run's state alone", async (t) => {
  const folder = path.join(await temporaryFolder(t), 'imagenet-k3v9q1');
  await imagenetRun(folder, Date.now(), 3);
  const state = await loadRun(folder);
  for (const job of state.jobs) {
    const { explanation } = await detailOf(folderRun(folder), state, job);
    const { cause, standing, title, because } = explainRunJob({ job, entries: [] });
    assert.deepEqual(
      [explanation.cause, explanation.headline],
      [cause, `${standingWords(standing)}: ${title}`],
    );
    assert.equal(explanation.because.length, because.length);
  }
  const [job] = state.jobs;
  assert.ok(job);
  const why = {
    ...explainRunJob({ job, entries: [] }),
    title: 'from the log',
    advice: ['ask\u001b[31m the staff'],
  };
  const source = { ...folderRun(folder), explain: () => Promise.resolve([why]) };
  const { headline, advice } = (await detailOf(source, state, job)).explanation;
  assert.match(headline, /: from the log$/);
  assert.doesNotMatch(advice.join(), /\u001b/);
});
