import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { JobState } from '@updraft/account/journal';
import { condorHarness } from './condor-harness.ts';

/** A server that has the object once the test says so. */
async function serverOf(t: TestContext): Promise<{ url: string; put: () => void }> {
  let isThere = false;
  const server = http.createServer((_, response) => {
    if (!isThere) response.writeHead(404).end('no');
    else response.writeHead(200, { 'content-length': '5' }).end('hello');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/data.txt`,
    put: () => void (isThere = true),
  };
}

const braked = 'missing everywhere, as another attempt of the run found';

const saidOf = (jobs: JobState[]): string[] =>
  jobs.flatMap(({ attempts }) => attempts.map(({ fault }) => fault?.message ?? ''));

test('while an object is missing everywhere, other jobs do not request it, and all succeed when it is back', async (t) => {
  const { url, put } = await serverOf(t);
  const harness = await condorHarness(t, {
    'updraft.toml': `
name = "braked"
[train]
command = "cp data/data.txt out.txt"
outputs = ["out.txt"]
[data.d]
url = "${url}"
method = "stream"
[run]
pool = "condor"
jobs = 3
attempts = 20
`,
  });
  if (harness === undefined) return;
  const run = await harness.submit();
  // Each miss extends the brake, so that eventually an attempt starts while it is on.
  await harness.until(run, ({ jobs }) => saidOf(jobs).some((words) => words.includes(braked)));
  const notes = path.join(run, 'notes/brakes');
  const [name = ''] = await readdir(notes);
  assert.match(await readFile(path.join(notes, name), 'utf8'), /data\.txt.*"until":\d+,"misses":\d/);
  put();
  const { jobs, tally } = await harness.finish(run);
  assert.equal(tally.success, 3, JSON.stringify(tally));
  assert.ok(
    saidOf(jobs).some((words) => words.includes(braked)),
    saidOf(jobs).join('\n'),
  );
  assert.match(await readFile(path.join(notes, name), 'utf8'), /"until":0/);
});

// Six of the eight find a slot at once if the pool is idle. A whole machine may never be free while other tests run.
test('when failed_jobs is reached the rest of the run is given up, and late attempts say so', async (t) => {
  const harness = await condorHarness(t, {
    'updraft.toml': `
name = "given-up"
[train]
command = "exit 3"
outputs = ["out.txt"]
[resources]
cpus = 4
[run]
pool = "condor"
jobs = 8
[recovery]
failed_jobs = 1
`,
  });
  if (harness === undefined) return;
  const { tally, jobs } = await harness.finish(await harness.submit());
  assert.ok(tally.failed >= 1 && tally.removed >= 1, JSON.stringify(tally));
  const late = jobs.find(({ outcome }) => outcome === 'removed');
  assert.match(late?.attempts.at(-1)?.fault?.message ?? '', /the run is given up: \d{4}/);
});
