import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import * as why from '../../src/cli/commands/why.ts';
import type { Explanation } from '@updraft/account/why';
import { runCommand } from '../cli/run-command.ts';
import { condorHarness, onlyJob } from '../condor/condor-harness.ts';

test("a job that failed on a real pool is explained by the agent and by HTCondor's log", async (t) => {
  const harness = await condorHarness(t, {
    'updraft.toml': `
name = "given-up"
[train]
command = "echo no such data >&2; exit 7"
outputs = ["out.txt"]
[run]
pool = "condor"
attempts = 2
`,
  });
  if (harness === undefined) return;
  const run = await harness.submit();
  await harness.finish(run);
  const { out } = await runCommand(why, [run, '0', '--json'], { cwd: harness.folder, env: harness.env });
  const [job] = (JSON.parse(out) as { jobs: Explanation[] }).jobs;
  assert.deepEqual([job?.standing, job?.cause], ['failed', 'training-failed'], out);
  const files = new Set(job?.evidence.map(({ file }) => file));
  assert.ok(files.has('events.log'), out);
  assert.match(job?.doing.join(' ') ?? '', /only what another try can fix .*condor\/job\.sub/);
  assert.ok(
    [...files].some((file) => file.endsWith('agent.jsonl')),
    out,
  );
});

test('a job with a missing input is released a few times, then stays held, with cause and rules', async (t) => {
  const server = createServer((_request, response) => response.writeHead(404).end()).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const harness = await condorHarness(t, {
    'updraft.toml': `
name = "missing"
[train]
command = "cp data/missing.dat out.txt"
outputs = ["out.txt"]
[data.train]
url = "http://127.0.0.1:${port}/missing.dat"
method = "https"
[run]
pool = "condor"
attempts = 2
`,
  });
  if (harness === undefined) return;
  const run = await harness.submit();
  const job = onlyJob(await harness.finish(run));
  assert.deepEqual([job.outcome, job.attempts.length, job.held?.kind], ['held', 2, 'object-missing']);
  assert.match(job.held?.message ?? '', /missing\.dat/);
  const { out } = await runCommand(why, [run], { cwd: harness.folder, env: harness.env });
  assert.match(out, /^0000 held: an input was not found \(404\)\n/);
  assert.match(out, /It has been held 2 times and released once, by a rule/);
  assert.match(
    out,
    /Nothing more: 2 attempts failed, and the rules of the run allow 2\s+\(periodic_release in/,
  );
  assert.match(out, /\nlog {2}events\.log, byte \d+ /);
});
