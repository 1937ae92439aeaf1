import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { condorHarness, onlyJob, result } from '../condor/condor-harness.ts';
import { makeExecutable, makePack, unpackTiny } from './make-pack.ts';

test('on a real pool a pixi-pack archive travels with the job, is unpacked on the worker, and leaves nothing behind', async (t) => {
  const archive = makeExecutable(makePack(), { unpacker: unpackTiny() });
  const sha256 = createHash('sha256').update(archive).digest('hex');
  const harness = await condorHarness(t, {
    'updraft.toml': `
name = "packed"
[train]
command = "tiny > said.txt"
outputs = ["said.txt"]
[environment.pack]
url = "env.sh"
sha256 = "${sha256}"
[resources]
memory = "500 MB"
[run]
pool = "condor"
`,
  });
  if (harness === undefined) return;
  await writeFile(path.join(harness.folder, 'env.sh'), archive);
  const run = await harness.submit();
  const job = onlyJob(await harness.finish(run));
  assert.equal(job.outcome, 'success', JSON.stringify(job));
  assert.match(await result(run, 'said.txt'), /^tiny in \S+\/software\/env\n$/);
  const journal = await readFile(path.join(run, 'jobs/0000/attempt-1/agent.jsonl'), 'utf8');
  assert.match(journal, /"kind":"environment-ready","how":"pack env\.sh"/);
  assert.match(journal, /"verified":"digest"/);
});
