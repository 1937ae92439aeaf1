import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as why from '../../src/cli/commands/why.ts';
import type { Explanation } from '../../src/recovery/explanation.ts';
import { runCommand } from '../cli/run-command.ts';
import { condorBench } from '../condor/condor-bench.ts';

test('a job that the agent gave up on a real pool is explained by the agent and by HTCondor’s log', async (t) => {
  const bench = await condorBench(t, {
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
  if (bench === undefined) return;
  const run = await bench.submit();
  await bench.finish(run);
  const { out } = await runCommand(why, [run, '0', '--json'], { cwd: bench.folder, env: bench.env });
  const [job] = (JSON.parse(out) as { jobs: Explanation[] }).jobs;
  assert.deepEqual([job?.standing, job?.cause], ['failed', 'training-failed'], out);
  const files = new Set(job?.evidence.map(({ file }) => file));
  assert.ok(files.has('events.log'), out);
  assert.ok(
    [...files].some((file) => file.endsWith('agent.jsonl')),
    out,
  );
});

test('an input that is missing everywhere is held, released by the rules, and the rules are named', async (t) => {
  const bench = await condorBench(t, {
    'updraft.toml': `
name = "missing"
[train]
command = "true"
[[data]]
url = "http://127.0.0.1:9/missing.dat"
method = "https"
[run]
pool = "condor"
attempts = 2
`,
  });
  if (bench === undefined) return;
  const run = await bench
    .submit()
    .catch((error: unknown) => t.skip(`the data cannot be given so: ${String(error)}`));
  if (typeof run !== 'string') return;
  await bench.until(run, ({ jobs }) => jobs.some(({ held }) => held !== undefined));
  const { out } = await runCommand(why, [run], { cwd: bench.folder, env: bench.env });
  assert.match(out, /^0000 held: the server cannot be reached\n/);
  assert.match(out, /what is being done\n {2}The schedd releases it by itself after \d+ s: this is hold 1/);
});
