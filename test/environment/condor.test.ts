import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import * as env from '../../src/cli/commands/env.ts';
import { runCommand } from '../cli/run-command.ts';
import { condorHarness, onlyJob, result } from '../condor/condor-harness.ts';
import { needOnPath } from '../on-path.ts';
import { writeChannel } from './make-channel.ts';
import { makeExecutable, makePack, unpackTiny } from './make-pack.ts';
import { here, torchPackages } from './torch-packages.ts';

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

test('on a real pool a job trains in what a real Pixi locked and a real pixi-pack packed', async (t) => {
  if ((await needOnPath(t, 'pixi', 'pixi-pack', 'pixi-unpack')) === undefined) return;
  const harness = await condorHarness(t, {});
  if (harness === undefined) return;
  const { folder } = harness;
  const channel = await writeChannel(folder, torchPackages());
  const workspace = `[workspace]\nname = "real"\nchannels = ["${channel}"]\nplatforms = ["${here}"]\n`;
  await writeFile(path.join(folder, 'pixi.toml'), `${workspace}[dependencies]\npytorch = "*"\n`);
  const where = { cwd: folder, env: { ...process.env, HOME: folder } };
  await runCommand(env, ['lock'], where);
  const { out } = await runCommand(env, ['pack', '-p', here, '--installed', '--json'], where);
  const { file, sha256 } = JSON.parse(out) as { file: string; sha256: string };
  await writeFile(
    path.join(folder, 'updraft.toml'),
    `name = "packed"
[train]
command = "python > said.txt"
outputs = ["said.txt"]
[environment.pack]
url = "${file}"
sha256 = "${sha256}"
[resources]
memory = "500 MB"
[run]
pool = "condor"
`,
  );
  const run = await harness.submit();
  const job = onlyJob(await harness.finish(run));
  assert.equal(job.outcome, 'success', JSON.stringify(job));
  assert.match(await result(run, 'said.txt'), /^python of \S+\/software\/env\n$/);
});
