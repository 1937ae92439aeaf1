import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { findPython } from '../../src/environment/find-python.ts';
import { startFederation, type MiniFederation } from '../../src/mini/federation/federation.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { condorBench, onlyJob, result } from './condor-bench.ts';
import { makeImage } from './make-image.ts';

const example = path.resolve(import.meta.dirname, '../../examples/cifar10');

/** A tiny CIFAR-10 in the real file format, published by a federation and by a plain web server. */
async function published(t: TestContext, python: string) {
  const folder = await temporaryFolder(t);
  const archive = path.join(folder, 'cifar-10-python.tar.gz');
  const make = [path.join(example, 'make_data.py'), archive, '--images-per-batch', '40'];
  await promisify(execFile)(python, make);
  const server = http
    .createServer((_, response) => void createReadStream(archive).pipe(response))
    .listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  const federation = await startFederation({
    namespaces: [
      { prefix: '/public', folder, public: true },
      { prefix: '/private', folder, public: false },
    ],
  });
  t.after(() => federation[Symbol.asyncDispose]());
  return { archive, federation, port: (server.address() as AddressInfo).port };
}

const settings = (federation: MiniFederation) => ({
  UPDRAFT_OSDF_HOST: federation.discoveryHost,
  SSL_CERT_FILE: federation.caFile,
});

test('CIFAR-10 reaches trainings natively, by https, through our plugin and as a stream', async (t) => {
  const { found: python } = await findPython(['numpy'], process.env, { signal: AbortSignal.timeout(60_000) });
  if (python === undefined) {
    t.skip('no Python with numpy on this machine, to make the data');
    return;
  }
  const { archive, federation, port } = await published(t, python);
  const source = (method: string, url: string): string =>
    `[data.${method}]\nurl = "${url}"\nmethod = "${method}"\ninto = "${method}"\nexpect = { files = 8 }\n`;
  const bench = await condorBench(
    t,
    {
      'updraft.toml': `
name = "cifar"
[train]
command = """
for way in native https osdf stream; do cmp native/cifar-10-batches-py/data_batch_1 $way/cifar-10-batches-py/data_batch_1 || exit 1; done
ln -s osdf data
python3 train.py --epochs 1 --save-model
"""
files = ["train.py"]
outputs = ["cifar10_cnn.pt", "metrics.json"]
${source('native', `file://${archive}`)}
${source('https', `http://127.0.0.1:${port}/web.tar.gz`)}
${source('osdf', 'osdf:///public/cifar-10-python.tar.gz')}
${source('stream', 'osdf:///private/cifar-10-python.tar.gz')}
token_file = "token"
[environment]
python = ["torch", "numpy"]
[resources]
disk = "2 GB"
[run]
pool = "condor"
jobs = 2
`,
      token: federation.issueToken(),
    },
    { env: settings(federation) },
  );
  if (bench === undefined) return;
  await copyFile(path.join(example, 'train.py'), path.join(bench.folder, 'train.py'));
  const run = await bench.submit();
  const state = await bench.finish(run);
  assert.equal(
    state.tally.success,
    2,
    JSON.stringify(state.jobs.map(({ attempts }) => attempts.at(-1)?.fault)),
  );
  const metrics = JSON.parse(await result(run, 'metrics.json')) as { accuracy: number };
  assert.ok(metrics.accuracy >= 0);
  const fetches = onlyJob(state).attempts[0]?.agent?.fetches ?? [];
  assert.equal(fetches.length, 4);
  assert.equal(fetches.find(({ object }) => object.includes('/private/'))?.verified, 'digest');
});

test('a job runs in a SIF image of the access point', async (t) => {
  const bench = await condorBench(t, {
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
  });
  if (bench === undefined) return;
  const image = path.join(bench.folder, 'image');
  await mkdir(image);
  await makeImage(image);
  await bench.tool('apptainer', 'build', path.join(bench.folder, 'an image, mine.sif'), image);
  const job = onlyJob(await bench.finish(await bench.submit()));
  assert.equal(job.outcome, 'success', JSON.stringify(job.attempts.at(-1)?.fault ?? job.held));
});

test('an image without gzip is told by name', async (t) => {
  const bench = await condorBench(t, {
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
  });
  if (bench === undefined) return;
  const image = path.join(bench.folder, 'image');
  await mkdir(image);
  await makeImage(image, 'gzip');
  await bench.tool('apptainer', 'build', path.join(bench.folder, 'bare.sif'), image);
  const job = onlyJob(await bench.finish(await bench.submit()));
  const [attempt] = job.attempts;
  assert.deepEqual([job.outcome, attempt?.exit, attempt?.fault?.kind], ['failed', 116, 'environment-broken']);
  assert.match(attempt?.fault?.message ?? '', /has no gzip; add it to the image/);
});
