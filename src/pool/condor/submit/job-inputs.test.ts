import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { WorkOrder } from '../../../job/job.ts';
import { readSpec } from '../../../job/read-spec.ts';
import { makePlan } from '../../../job/plan.ts';
import { renderCondorOrders } from './job-inputs.ts';
import { profileNamed } from './profiles.ts';
import { inputsOf } from './render-submit.ts';

const ospool = await profileNamed('ospool', {});

test('of data that the agent fetches in the job, HTCondor transfers the token only', () => {
  const text = (method: string): string =>
    `name = "x"\n[train]\ncommand = "t"\noutputs = ["m"]\n[data.d]\nurl = "osdf:///a/b.shards.json"\nmethod = "${method}"\ntoken_file = "t"\n`;
  for (const method of ['stream', 'on-demand']) {
    const spec = readSpec(text(method), 'updraft.toml');
    const [source] = makePlan({ spec, file: '', folder: '', files: [] }).data;
    assert.ok(source !== undefined);
    assert.deepEqual(
      inputsOf(source).map((name) => name.replace(/^.*\//, '')),
      ['token.d'],
      method,
    );
  }
});

test("a job's order names the federations that its user has confirmed", () => {
  const spec = readSpec('name = "x"\n[train]\ncommand = "t"\noutputs = ["m"]\n', 'updraft.toml');
  const plan = makePlan({ spec, file: '', folder: '', files: [], confirmed: ['https://campus.example'] });
  const [order = ''] = Object.values(renderCondorOrders(plan, 'run', ospool));
  assert.deepEqual((JSON.parse(order) as WorkOrder).confirmed, ['https://campus.example']);
});
