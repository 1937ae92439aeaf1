import assert from 'node:assert/strict';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { startFederation } from '@updraft/mini/federation';
import { temporaryFolder } from '../temporary-folder.ts';
import { condorHarness, onlyJob, result } from './condor-harness.ts';
import { makeImage, uncompressed } from './make-image.ts';
import { federationEnv } from './published-cifar.ts';

test('a job runs in a SIF image of the access point', async (t) => {
  const harness = await condorHarness(
    t,
    {
      'updraft.toml': `
name = "boxed"
[train]
command = "cat /made-by-test > out.txt"
outputs = ["out.txt"]
[environment]
image = "an image, mine.sif"
[run]
pool = "condor"
`,
    },
    { sends: true },
  );
  if (harness === undefined) return;
  const image = path.join(harness.folder, 'image');
  await mkdir(image);
  await makeImage(image);
  await harness.tool(
    'apptainer',
    'build',
    ...uncompressed,
    path.join(harness.folder, 'an image, mine.sif'),
    image,
  );
  const job = onlyJob(await harness.finish(await harness.submit()));
  assert.equal(job.outcome, 'success', JSON.stringify(job.attempts.at(-1)?.fault ?? job.held));
});

test('a job runs in a private image of the federation, which our plugin fetches with its token', async (t) => {
  const published = await temporaryFolder(t);
  const federation = await startFederation({
    namespaces: [{ prefix: '/images', folder: published, public: false }],
  });
  t.after(() => federation[Symbol.asyncDispose]());
  const harness = await condorHarness(
    t,
    {
      'updraft.toml': `
name = "boxed-osdf"
[train]
command = "cat /made-by-test > out.txt"
outputs = ["out.txt"]
[environment]
image = "osdf:///images/v1/image.sif"
image_token_file = "token"
[resources]
disk = "1 GB"
[run]
pool = "condor"
attempts = 1
`,
      token: federation.issueToken(),
    },
    { env: federationEnv(federation), sends: true },
  );
  if (harness === undefined) return;
  const image = path.join(harness.folder, 'image');
  await mkdir(image);
  await makeImage(image);
  await mkdir(path.join(published, 'v1'));
  await harness.tool('apptainer', 'build', ...uncompressed, path.join(published, 'v1/image.sif'), image);
  const run = await harness.submit();
  const job = onlyJob(await harness.finish(run));
  assert.equal(job.outcome, 'success', JSON.stringify(job.attempts.at(-1)?.fault ?? job.held));
  assert.equal(await result(run, 'out.txt'), 'image\n');
});

test('an image without gzip is reported by name', async (t) => {
  const harness = await condorHarness(
    t,
    {
      'updraft.toml': `
name = "bare"
[train]
command = "true"
outputs = ["out.txt"]
[environment]
image = "bare.sif"
[run]
pool = "condor"
attempts = 1
`,
    },
    { sends: true },
  );
  if (harness === undefined) return;
  const image = path.join(harness.folder, 'image');
  await mkdir(image);
  await makeImage(image, 'gzip');
  await harness.tool('apptainer', 'build', ...uncompressed, path.join(harness.folder, 'bare.sif'), image);
  const job = onlyJob(await harness.finish(await harness.submit()));
  const [attempt] = job.attempts;
  assert.deepEqual([job.outcome, attempt?.exit, attempt?.fault?.kind], ['failed', 116, 'environment-broken']);
  assert.match(attempt?.fault?.message ?? '', /has no gzip; add it to the image/);
});

test('profile = "ospool" sends the authority of the mini federation, without a key beside it', async (t) => {
  const published = await temporaryFolder(t, { 'one.txt': 'one\n', 'two.txt': 'two\n' });
  const federation = await startFederation({
    namespaces: [{ prefix: '/demo', folder: published, public: true }],
  });
  t.after(() => federation[Symbol.asyncDispose]());
  const caFile = path.join(await temporaryFolder(t), 'ca.pem');
  const key = '-----BEGIN PRIVATE KEY-----\nbm90IGEga2V5\n-----END PRIVATE KEY-----\n';
  await writeFile(caFile, key + (await readFile(federation.caFile, 'utf8')));
  const harness = await condorHarness(
    t,
    {
      'updraft.toml': `
name = "like-ospool"
[train]
command = "cat data-one/one.txt data-two/two.txt > out.txt"
outputs = ["out.txt"]
[data.one]
url = "osdf:///demo/one.txt"
method = "osdf"
unpack = "none"
into = "data-one"
[data.two]
url = "osdf:///demo/two.txt"
method = "stream"
unpack = "none"
into = "data-two"
[run]
pool = "condor"
profile = "ospool"
attempts = 1
`,
    },
    { env: { ...federationEnv(federation), SSL_CERT_FILE: caFile } },
  );
  if (harness === undefined) return;
  const run = await harness.submit();
  const sent = await readFile(path.join(run, 'condor/inputs/authority.pem'), 'utf8');
  assert.match(sent, /^-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n$/);
  const job = onlyJob(await harness.finish(run));
  assert.equal(job.outcome, 'success', JSON.stringify(job.attempts.at(-1)?.fault ?? job.held));
  assert.equal(await result(run, 'out.txt'), 'one\ntwo\n');
});
