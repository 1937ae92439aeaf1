import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makePlan } from '../../job/plan.ts';
import { readSpec } from '../../job/read-spec.ts';
import { renderOrder } from './order.ts';

test("an attempt on this machine never moves to a faster one, and its notes are in the run's folder", () => {
  const text = 'name = "x"\n[train]\ncommand = "t"\noutputs = ["m"]\nslow_limit = 2\n';
  const plan = makePlan({
    spec: readSpec(text, 'updraft.toml'),
    file: '/a/updraft.toml',
    folder: '/a',
    files: [],
  });
  const [job] = plan.jobs;
  assert.ok(job);
  const order = renderOrder('/runs/a-1', plan, job, 1, '/scratch');
  assert.equal(job.train.slowLimit, 2);
  assert.equal(order.job.train.slowLimit, 0);
  assert.equal(order.notesFolder, '/runs/a-1/notes');
  assert.equal(order.resources.diskBytes, 'auto');
  const confirmed = ['https://campus.example'];
  assert.deepEqual(renderOrder('/runs/a-1', { ...plan, confirmed }, job, 1, '/scratch').confirmed, confirmed);
});
