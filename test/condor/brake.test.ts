import assert from 'node:assert/strict';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import type { JobState } from '../../src/journal/state.ts';
import { condorHarness } from './condor-harness.ts';

/** A server that has the object from the moment on at which a test says so. */
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

const heeded = 'missing everywhere, as another attempt of the run found';

const saidOf = (jobs: JobState[]): string[] =>
  jobs.flatMap(({ attempts }) => attempts.map(({ fault }) => fault?.message ?? ''));

test('while an object is missing everywhere the other jobs do not ask for it, and all end well when it is back', async (t) => {
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
  // The brake is drawn out at each miss, so that sooner or later an attempt comes while it holds.
  await harness.until(run, ({ jobs }) => saidOf(jobs).some((words) => words.includes(heeded)));
  const notes = path.join(run, 'notes/brakes');
  const [name = ''] = await readdir(notes);
  assert.match(await readFile(path.join(notes, name), 'utf8'), /data\.txt.*"until":\d+,"misses":\d/);
  put();
  const { jobs, tally } = await harness.finish(run);
  assert.equal(tally.success, 3, JSON.stringify(tally));
  assert.ok(
    saidOf(jobs).some((words) => words.includes(heeded)),
    saidOf(jobs).join('\n'),
  );
  assert.match(await readFile(path.join(notes, name), 'utf8'), /"until":0/);
});

test('when a job has failed for good the rest of the run is given up, and those that come late say so', async (t) => {
  const harness = await condorHarness(t, {
    'updraft.toml': `
name = "given-up"
[train]
command = "exit 3"
outputs = ["out.txt"]
[resources]
cpus = 8
[run]
pool = "condor"
jobs = 6
[recovery]
failed_jobs = 1
`,
  });
  if (harness === undefined) return;
  const { tally, jobs } = await harness.finish(await harness.submit());
  assert.ok(tally.failed >= 1 && tally.stopped >= 1, JSON.stringify(tally));
  const late = jobs.find(({ outcome }) => outcome === 'stopped');
  assert.match(late?.attempts.at(-1)?.fault?.message ?? '', /the run is given up: \d{4}/);
});
