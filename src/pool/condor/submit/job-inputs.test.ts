import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readSpec } from '../../../job/read-spec.ts';
import { makePlan } from '../../../job/plan.ts';
import { inputsOf } from './render-submit.ts';

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
