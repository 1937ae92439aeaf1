import assert from 'node:assert/strict';
import path from 'node:path';
import { test } from 'node:test';
import type { Explanation } from '../diagnosis/explanation.ts';
import { logSources } from '@updraft/htcondor/eventlog';
import { readHistory } from '../history/read-history.ts';
import { explainStory, headlineOf } from './explain-story.ts';
import { groupExplanations, groupJobs } from './group-explanations.ts';

const explained = (job: string, lr: number): Explanation => ({
  ...{ job, name: `lr=${lr}`, standing: 'failed', cause: 'exit-code', title: 'it failed' },
  ...{ because: [], evidence: [], doing: [], advice: [] },
});

test('jobs are named by their parameters', () => {
  const [group] = groupExplanations([explained('0001', 0.1), explained('0002', 0.2)]);
  assert.deepEqual(
    [group?.jobs, group?.labels],
    [
      ['0001', '0002'],
      ['0001 lr=0.1', '0002 lr=0.2'],
    ],
  );
});

test('the headline of a job is that of its explanation, for every log in the repository', async () => {
  const folder = path.join(import.meta.dirname, '../../../test/eventlogs');
  const found = new Set<string>();
  for (const source of await logSources([folder])) {
    const { jobs } = await readHistory([source], { evidence: true });
    for (const job of jobs) {
      const { job: id, standing, cause, title } = explainStory(job);
      found.add(standing);
      const headline = headlineOf(job);
      assert.deepEqual(
        [headline.job, headline.standing, headline.cause, headline.title],
        [id, standing, cause, title],
      );
    }
    const [grouped, explained] = [
      groupJobs(jobs, headlineOf, explainStory),
      groupExplanations(jobs.map((job) => explainStory(job))),
    ];
    assert.deepEqual(grouped, explained, source.name);
  }
  for (const standing of ['success', 'failed', 'held', 'removed']) assert.ok(found.has(standing), standing);
});
