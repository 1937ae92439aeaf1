import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createReadStream } from 'node:fs';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { findPython } from '../../src/environment/find-python.ts';
import { startFederation, type MiniFederation } from '../../src/mini/federation/federation.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { condorBench, onlyJob, result } from './condor-bench.ts';

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
  const { found: python } = await findPython(['numpy'], process.env, AbortSignal.timeout(60_000));
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

/** The least that a shell, gzip and the agent need, from this machine's own files. */
async function makeImage(image: string, lacks?: string): Promise<void> {
  const folders = ['bin', 'usr/bin', 'tmp', 'proc', 'dev', 'sys', 'etc', 'var/tmp', 'root', 'home'];
  for (const folder of folders) await mkdir(path.join(image, folder), { recursive: true });
  const programs = ['sh', 'gzip', 'mkdir', 'mv', 'chmod', 'cat', 'true'].filter((name) => name !== lacks);
  const script = `
set -e
for name in ${programs.join(' ')}; do
  file=/usr/bin/$name; [ -x "$file" ] || file=/bin/$name
  for to in bin usr/bin; do cp -L "$file" "$1/$to/$name"; done
  ldd "$file" | sed -n 's/.*=> \\([^ ]*\\) .*/\\1/p; s/^[[:space:]]*\\(\\/[^ ]*\\) .*/\\1/p' >> "$1/.libraries"
done
for name in libc.so.6 libm.so.6 libpthread.so.0 libdl.so.2 librt.so.1 libgcc_s.so.1; do ldconfig -p | sed -n "s/.*$name .* => //p" | head -n 1 >> "$1/.libraries"; done
sort -u "$1/.libraries" | while read -r library; do mkdir -p "$1$(dirname "$library")"; cp -L "$library" "$1$library"; done
`;
  await promisify(execFile)('sh', ['-c', script, 'sh', image], {
    env: { ...process.env, PATH: '/usr/sbin:/usr/bin:/sbin:/bin' },
  });
  await writeFile(path.join(image, 'etc/passwd'), 'researcher:x:1000:1000::/tmp:/bin/sh\n');
  await writeFile(path.join(image, 'etc/group'), 'researcher:x:1000:\n');
  await writeFile(path.join(image, 'made-by-test'), 'image\n');
}
