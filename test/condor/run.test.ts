import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { condorHarness, onlyJob, result } from './condor-harness.ts';

const toml = (text: string): Record<string, string> => ({ 'updraft.toml': text });

test('names with spaces, quotes, macros, commas and non-ASCII letters survive the round trip', async (t) => {
  const odd = `it's "odd" $(HOME) $$(Arch), ünï;=x`;
  const harness = await condorHarness(
    t,
    {
      'updraft.toml': `
name = "odd.names-1"
[train]
command = '''cat "in $(echo put), é.txt" > "out=1; ü.txt"; printf '%s' "$ODD" > odd.txt'''
files = ["in put, é.txt"]
outputs = ["out=1; ü.txt", "odd.txt"]
env = { ODD = ${JSON.stringify(odd)} }
[run]
pool = "condor"
`,
      'in put, é.txt': 'through\n',
    },
    { inside: `a b'c "d" $(HOME), é` },
  );
  if (harness === undefined) return;
  const run = await harness.submit();
  const state = await harness.finish(run);
  const job = onlyJob(state);
  assert.equal(job.outcome, 'success', JSON.stringify(job));
  assert.equal(await result(run, 'out=1; ü.txt'), 'through\n');
  assert.equal(await result(run, 'odd.txt'), odd);
  const [attempt] = job.attempts;
  assert.match(attempt?.agent?.site ?? '', /CHTC-Spark-CE1|PDX-Coeus-CE1|GP-ARGO-ksu-backfill/);
  assert.equal(attempt?.site, attempt?.agent?.site);
  assert.equal(state.garbled, 0);
});

test('every combination of a matrix is a job of one cluster, with its own parameters and results', async (t) => {
  const harness = await condorHarness(
    t,
    toml(`
name = "matrix"
[train]
command = "printf '%s/%s' {word} {lr} > out.txt"
outputs = ["out.txt"]
[run]
pool = "condor"
matrix = { word = ["a b", "q\\"'q", "$(x) \\u001f"], lr = [0.1, 0.01] }
`),
  );
  if (harness === undefined) return;
  const run = await harness.submit();
  const state = await harness.finish(run);
  assert.equal(state.tally.success, 6);
  const results = await Promise.all(state.jobs.map(({ id }) => result(run, 'out.txt', id)));
  assert.deepEqual(results, [
    'a b/0.1',
    `q"'q/0.01`,
    '$(x) \u001f/0.1',
    'a b/0.01',
    `q"'q/0.1`,
    '$(x) \u001f/0.01',
  ]);
});

test('the schedd retries a transient fault, and each attempt keeps its own journal', async (t) => {
  const harness = await condorHarness(
    t,
    toml(`
name = "retried"
[train]
command = "true"
outputs = ["out.txt"]
[environment]
python = ["no_such_module_anywhere"]
[run]
pool = "condor"
attempts = 2
`),
  );
  if (harness === undefined) return;
  const run = await harness.submit();
  const job = onlyJob(await harness.finish(run));
  assert.deepEqual([job.outcome, job.attempts.length], ['failed', 2]);
  for (const attempt of job.attempts) {
    assert.equal(attempt.agent?.outcome, 'failed');
    assert.equal(attempt.fault?.kind, 'environment-broken');
    assert.match(attempt.fault.message, /no_such_module_anywhere/);
  }
});

test("a training's own failure ends the job at once, with its exit code and last output", async (t) => {
  const harness = await condorHarness(
    t,
    toml(`
name = "failing"
[train]
command = "echo 'ValueError: no such layer' >&2; exit 3"
outputs = ["out.txt"]
[run]
pool = "condor"
`),
  );
  if (harness === undefined) return;
  const run = await harness.submit();
  const job = onlyJob(await harness.finish(run));
  assert.deepEqual([job.outcome, job.attempts.length], ['failed', 1]);
  assert.equal(job.attempts[0]?.exit, 3);
  assert.match(job.attempts[0].fault?.message ?? '', /ValueError: no such layer/);
  const folder = path.join(run, 'jobs/0000/attempt-1');
  assert.match(await readFile(path.join(folder, 'err.log'), 'utf8'), /ValueError/);
});

test('missing outputs are a wrong output, whatever the exit code', async (t) => {
  const harness = await condorHarness(
    t,
    toml('name = "wrong"\n[train]\ncommand = "true"\noutputs = ["out.txt"]\n[run]\npool = "condor"\n'),
  );
  if (harness === undefined) return;
  const job = onlyJob(await harness.finish(await harness.submit()));
  assert.equal(job.outcome, 'wrong-output');
});

test('an evicted attempt resumes from its checkpoint on the next slot', async (t) => {
  const harness = await condorHarness(
    t,
    toml(`
name = "evicted"
[train]
command = '''
trap 'echo saved > ckpt/step; exit 1' TERM
if [ -f ckpt/step ]; then cat ckpt/step > out.txt; exit 0; fi
echo started; while :; do sleep 0.1; done
'''
outputs = ["out.txt"]
checkpoint = "ckpt"
[run]
pool = "condor"
`),
  );
  if (harness === undefined) return;
  const run = await harness.submit();
  await harness.until(run, (state) => onlyJob(state).attempts[0]?.agent?.phase === 'training');
  const constraint = `UpdraftRun == "${path.basename(run)}"`;
  await harness.tool('condor_vacate_job', '-constraint', constraint);
  const job = onlyJob(await harness.finish(run));
  assert.equal(job.outcome, 'success', JSON.stringify(job));
  assert.deepEqual(
    job.attempts.map(({ ending }) => ending),
    ['evicted', 'success'],
  );
  assert.equal(await result(run, 'out.txt'), 'saved\n');
});
