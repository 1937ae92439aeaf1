import assert from 'node:assert/strict';
import { chmod, mkdir, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { startFederation } from '@updraft/mini/federation';
import { AgentHarness } from './agent-harness.ts';
import { serveBytes } from './byte-server.ts';

const resources = { cpus: 1, gpus: 0, memoryBytes: 1e9, diskBytes: 'auto' as const };
const train = { command: 'echo 1 > model.pt' };

/** Programs by name, first on the PATH of the agent. */
async function programs(harness: AgentHarness, scripts: Record<string, string>): Promise<NodeJS.ProcessEnv> {
  await mkdir(harness.at('programs'));
  for (const [name, script] of Object.entries(scripts)) {
    await writeFile(harness.at(`programs/${name}`), `#!/bin/sh\n${script}\n`);
    await chmod(harness.at(`programs/${name}`), 0o755);
  }
  return { PATH: `${harness.at('programs')}:${process.env['PATH'] ?? ''}` };
}

/** A server that has everything except names with `missing`. */
async function halfEmptyServer(t: TestContext): Promise<string> {
  const server = http.createServer((request, response) => {
    response.writeHead(request.url?.includes('missing') === true ? 404 : 200).end('x');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test('the journal has the self-test and its results', async (t) => {
  const harness = await AgentHarness.open(t);
  const { url } = await serveBytes(t, Buffer.from('1,2,3\n'));
  const { exit, stderr } = await harness.run({ data: [{ name: 'table', url: `${url}/table.csv` }], train });
  assert.equal(exit, 0, stderr);
  const [entry] = harness.entries('self-test');
  assert.deepEqual(
    entry?.checks.map(({ name, ok }) => [name, ok]),
    [
      ['disk', true],
      ['data.table', true],
    ],
  );
  assert.match(entry.checks[0]?.said ?? '', /B free in .*scratch/);
  assert.match(entry.checks[1]?.said ?? '', /^127\.0\.0\.1:\d+ has it: 6 B$/);
});

test('a machine without the promised disk space is left while its first object arrives', async (t) => {
  const harness = await AgentHarness.open(t);
  const { url } = await serveBytes(t, Buffer.from('1,2,3\n'), 2);
  const { exit, stderr } = await harness.run({
    data: [{ url: `${url}/a.csv` }],
    resources: { ...resources, diskBytes: 1e18 },
  });
  assert.equal(exit, 115);
  assert.match(
    stderr,
    new RegExp(`${os.hostname()} failed the self-test: disk: .* free in .*, 1000 PB needed`),
  );
  assert.match(stderr, /fix: /);
  assert.deepEqual(harness.entries('fetched'), []);
  assert.deepEqual(harness.leftovers(), []);
});

test('a job that asks for a GPU runs where nvidia-smi finds it, and the journal says which', async (t) => {
  const harness = await AgentHarness.open(t);
  const env = await programs(harness, {
    'nvidia-smi':
      'echo "0, GPU-8c1f4a2b-11, NVIDIA A100, 0, 550.54.14"; echo "1, GPU-77, Quadro P5000, 0, 550.54.14"',
    python3: 'exit 3',
  });
  const order = { train, resources: { ...resources, gpus: 1 } };
  const { exit, stderr } = await harness.run(order, undefined, {
    ...env,
    CUDA_VISIBLE_DEVICES: 'GPU-8c1f4a2b',
  });
  assert.equal(exit, 0, stderr);
  const gpu = harness.entries('self-test')[0]?.checks.find(({ name }) => name === 'gpu');
  assert.deepEqual(gpu, { name: 'gpu', ok: true, said: 'NVIDIA A100 (GPU-8c1f4a2b-11)' });
  const [found] = harness.entries('gpus-found');
  assert.deepEqual([found?.gpus, found?.driver], [['NVIDIA A100'], '550.54.14']);
});

test('a slot with a GPU is measured beside the training, which does not wait for it', async (t) => {
  const harness = await AgentHarness.open(t);
  const env = await programs(harness, {
    'nvidia-smi': 'echo "0, GPU-11, NVIDIA A100, 0, 550.54.14"',
    // The test of PyTorch, which is not here, and the measurement.
    python3: `case "$2" in *libcuda*) echo "2.5.1|12.4|1|12|9000000000";;
      *) PATH='${process.env['PATH'] ?? ''}' exec python3 "$@";; esac`,
  });
  const journal = path.join(harness.at('job/attempt-1'), 'agent.jsonl');
  const until = `until grep -q disk[B]ytes ${journal}; do sleep 0.1; done; echo 1 > model.pt`;
  const { exit, stderr } = await harness.run(
    { train: { command: until }, resources: { ...resources, gpus: 1 } },
    undefined,
    env,
  );
  assert.equal(exit, 0, stderr);
  const [first = {}, second = {}] = harness
    .entries('slot-probed')
    .map(({ figures }) => figures)
    .sort((a, b) => Object.keys(a).length - Object.keys(b).length);
  assert.deepEqual(first, { copyBytesPerSecond: 9e9 });
  const { diskBytesPerSecond: disk = 0, memoryBytesPerSecond: memory = 0 } = second;
  assert.ok(disk > 1e5 && memory > 1e6, JSON.stringify(second));
});

for (const [what, scripts, given, exit, message] of [
  [
    'whose driver is broken',
    { 'nvidia-smi': 'echo "Failed to initialize NVML"; exit 18' },
    '0',
    115,
    /Failed to initialize NVML/,
  ],
  [
    'that was given none',
    { 'nvidia-smi': 'echo "0, GPU-1, NVIDIA A100, 0"' },
    '10000',
    115,
    /the pool gave this slot none/,
  ],
  [
    'that PyTorch cannot use',
    {
      'nvidia-smi': 'echo "0, GPU-1, NVIDIA A100, 0"',
      python3: 'echo "cuInit: unknown error" >&2; exit 1',
    },
    '0',
    115,
    /torch: the GPU cannot be used from Python: cuInit: unknown error/,
  ],
  [
    'whose PyTorch has no GPU support',
    { 'nvidia-smi': 'echo "0, GPU-1, NVIDIA A100, 0"', python3: 'echo "2.5.1+cpu||0|0"' },
    '0',
    116,
    /built without GPU support/,
  ],
] as const)
  test(`a job that asks for a GPU leaves a machine ${what}`, async (t) => {
    const harness = await AgentHarness.open(t);
    const env = { ...(await programs(harness, scripts)), CUDA_VISIBLE_DEVICES: given };
    const result = await harness.run({ train, resources: { ...resources, gpus: 1 } }, undefined, env);
    assert.equal(result.exit, exit, result.stderr);
    assert.match(result.stderr, message);
    assert.deepEqual(harness.entries('training-started'), []);
  });

const sharedGpu = 'echo "0, GPU-1, NVIDIA A100, 0, 550.54.14, Default"';

/** A job on shards that come on demand, with a fake Python that has the last word about the GPU. */
async function runOnDemand(t: TestContext, command: string, gpuTest: string, smi = sharedGpu) {
  const harness = await AgentHarness.open(t);
  const { url } = await serveBytes(t, Buffer.from('a shard'));
  const mark = harness.at('mark');
  const env = await programs(harness, {
    'nvidia-smi': smi.replaceAll('MARK', mark),
    python3: `while [ ! -e ${mark} ]; do sleep 0.02; done\n${gpuTest}`,
  });
  const result = await harness.run(
    {
      train: { command: command.replaceAll('MARK', mark), checkpoint: 'checkpoints' },
      data: [{ url: `${url}/{0..1}.tar`, method: 'on-demand' }],
      resources: { ...resources, gpus: 1 },
    },
    undefined,
    { ...env, CUDA_VISIBLE_DEVICES: '0' },
  );
  return { harness, ...result };
}

const brokenGpu = 'echo "cuInit: unknown error" >&2; exit 1';
/** Waits until the process that wrote its id is gone. */
const afterDeath = (then: string): string =>
  `while [ -d /proc/$(cat $(dirname $0)/../mark) ]; do sleep 0.02; done\n${then}`;

test('a training on shards starts beside the test of the GPU, and ends with it', async (t) => {
  const training =
    'trap "echo 1 > checkpoints/late; exit 85" TERM; echo 1 > checkpoints/early; echo > MARK; while :; do sleep 0.02; done';
  const { harness, exit, stderr } = await runOnDemand(t, training, brokenGpu);
  assert.equal(exit, 115, stderr);
  assert.match(stderr, /torch: the GPU cannot be used from Python: cuInit: unknown error/);
  assert.equal(harness.entries('training-ended').length, 1);
  assert.deepEqual(harness.entries('checkpoint-saved'), [], 'what was trained there does not count');
  assert.deepEqual(
    harness.entries('fault').map(({ fault }) => fault.kind),
    ['self-test-failed'],
  );
  assert.deepEqual(harness.leftovers(), []);
});

const dying = 'echo $$ > MARK.new; mv MARK.new MARK; echo "CUDA error: unknown error" >&2; exit 7';

test('a training that the broken GPU ended before the test did is not to blame', async (t) => {
  const { harness, exit, stderr } = await runOnDemand(t, dying, afterDeath(brokenGpu));
  assert.equal(exit, 115, stderr);
  assert.match(stderr, /torch: the GPU cannot be used from Python: cuInit: unknown error/);
  assert.equal(harness.entries('training-ended')[0]?.status, 7);
});

test('a training that failed before the test of a sound GPU had ended has failed', async (t) => {
  const { exit, stderr } = await runOnDemand(t, dying, afterDeath('echo "2.5.1|12.4|1|12"'));
  assert.equal(exit, 7, stderr);
});

test('a result of a training that ended before a test failed does not count', async (t) => {
  const training = 'echo 1 > model.pt; echo $$ > MARK.new; mv MARK.new MARK';
  const { harness, exit, stderr } = await runOnDemand(t, training, afterDeath(brokenGpu));
  assert.equal(exit, 115, stderr);
  assert.deepEqual(harness.entries('output'), []);
});

test('a training on shards starts only on a machine that has passed', async (t) => {
  const { harness, exit, stderr } = await runOnDemand(t, 'echo > MARK', brokenGpu, 'sleep 0.5; exit 18');
  assert.equal(exit, 115, stderr);
  assert.match(stderr, /self-test: gpu: nvidia-smi/);
  assert.deepEqual(harness.entries('training-started'), []);
});

for (const [what, smi] of [
  ['that only one process may use', 'echo "0, GPU-1, NVIDIA A100, 0, 550.54.14, Exclusive_Process"'],
  ['of unknown mode', 'echo "0, GPU-1, NVIDIA A100, 0"'],
] as const)
  test(`a GPU ${what} is tested before a training on shards starts`, async (t) => {
    const { harness, exit, stderr } = await runOnDemand(
      t,
      'true',
      `sleep 0.5; ${brokenGpu}`,
      `echo > MARK; ${smi}`,
    );
    assert.equal(exit, 115, stderr);
    assert.match(stderr, /torch: the GPU cannot be used from Python: cuInit: unknown error/);
    assert.deepEqual(harness.entries('training-started'), []);
  });

test('a missing last object is found while the first arrives', async (t) => {
  const harness = await AgentHarness.open(t);
  const url = await halfEmptyServer(t);
  const slow = await serveBytes(t, Buffer.from('1,2,3\n'), 2);
  const { exit, stderr } = await harness.run({
    data: [
      { name: 'first', url: `${slow.url}/first.csv`, into: 'first' },
      { name: 'last', url: `${url}/missing.csv`, into: 'last' },
    ],
    train,
  });
  assert.equal(exit, 96);
  assert.match(stderr, /missing\.csv is not there: 127\.0\.0\.1:\d+ says so/);
  assert.deepEqual(harness.entries('fetched'), []);
});

test('a server that answers with an error is left to the transfer', async (t) => {
  const harness = await AgentHarness.open(t);
  let asked = 0;
  const server = http.createServer((request, response) => {
    // Signed URLs refuse HEAD requests.
    if (request.method === 'HEAD') return void response.writeHead(403).end();
    asked++;
    response.writeHead(200, { 'Content-Length': 2 }).end('x\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.csv`;
  const { exit, stderr } = await harness.run({ data: [{ url }], train });
  assert.equal(exit, 0, stderr);
  assert.ok(asked > 0);
});

test('a 404 from caches does not mean that an object is missing; only the origin decides', async (t) => {
  const harness = await AgentHarness.open(t);
  await writeFile(harness.at('files/a.csv'), '1\n');
  const federation = await startFederation({
    namespaces: [{ prefix: '/demo', folder: harness.at('files'), public: true }],
  });
  t.after(() => federation.stop());
  await federation.trouble.add('caches: 404');
  const env = { UPDRAFT_OSDF_HOST: federation.discoveryHost, SSL_CERT_FILE: federation.caFile };
  const found = await harness.run(
    { data: [{ name: 'a', url: 'osdf:///demo/a.csv' }], train },
    undefined,
    env,
  );
  assert.equal(found.exit, 0, found.stderr);
  const [entry] = harness.entries('self-test');
  assert.match(entry?.checks.at(-1)?.said ?? '', /^\S+ has it: 2 B$/);
  const data = [{ name: 'a', url: 'osdf:///demo/b.csv' }];
  const lost = await harness.run({ attempt: 2, data, train }, undefined, env);
  assert.equal(lost.exit, 96, lost.stderr);
  assert.match(lost.stderr, /osdf:\/\/\/demo\/b\.csv/);
});

test('an attempt that is asked to leave during its self-test leaves at once', async (t) => {
  const harness = await AgentHarness.open(t);
  const server = http.createServer();
  const asked = new Promise<void>((resolve) => server.once('request', () => resolve()));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/a.csv`;
  const agent = harness.start(await harness.order({ data: [{ url }], train }));
  await agent.before(asked);
  agent.child.kill('SIGTERM');
  const { exit, stderr } = await agent.finished;
  assert.equal(exit, 113, stderr);
  assert.deepEqual(harness.leftovers(), []);
});
