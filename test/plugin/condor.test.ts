import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, test, type TestContext } from 'node:test';
import { demoFederation } from '../mini/demo-federation.ts';
import { executable } from '../agent/agent-harness.ts';
import { makeTarGz } from '../agent/tar.ts';
import { PluginPool } from './plugin-pool.ts';

const harness = await PluginPool.start(executable);
after(() => harness.stop());

const skipped = (t: TestContext): boolean => {
  if (harness.lacks !== undefined) t.skip(harness.lacks);
  return harness.lacks !== undefined;
};

test('inputs arrive complete through a cache that stalls, by the plugin that the job brings along', async (t) => {
  if (skipped(t)) return;
  const { federation, folder, objects } = await demoFederation(t);
  const weights = randomBytes(1_000_000);
  writeFileSync(path.join(folder, 'demo/weights, v1;é.pt'), weights);
  await federation.trouble.add('cache-1: stall after 100kB');
  const job = await harness.run(t, federation, {
    executable: '/bin/sh',
    arguments: '"-c \'cat big.bin small.txt weights*\'"',
    transfer_input_files:
      'osdf:///demo/big.bin, osdf:///demo/sub/small.txt, osdf:///demo/weights%2C%20v1;%C3%A9.pt',
  });
  assert.equal(job.ended, 'completed', job.log);
  assert.ok(readFileSync(job.out).equals(Buffer.concat([objects.big, objects.small, weights])));
});

test('a missing object holds the job with a reason that names object, servers and site', async (t) => {
  if (skipped(t)) return;
  const { federation } = await demoFederation(t);
  const job = await harness.run(t, federation, {
    executable: '/bin/true',
    transfer_input_files: 'osdf:///demo/big.bin, osdf:///demo/none.txt, osdf:///demo/sub/small.txt',
  });
  assert.equal(job.ended, 'held', job.log);
  assert.equal(job.ad['HoldReasonCode'], 13);
  assert.equal(job.ad['HoldReasonSubCode'], 1 << 8);
  const reason = String(job.ad['HoldReason']);
  t.diagnostic(reason);
  assert.match(reason, /using protocol osdf/);
  assert.match(reason, /osdf:\/\/\/demo\/none\.txt.*404/);
  assert.match(reason, /updraft \d+\.\d+\.\d+, site [\w-]+, host [\w.-]+\.example/);
});

for (const [proof, trouble, subcode] of [
  ['nobody proves whole', 'all: digest-missing', 11 << 8],
  ['its server proves whole', undefined, 256],
] as const)
  test(`a cut archive that ${proof} holds the job with the subcode that retry policies look for`, async (t) => {
    if (skipped(t)) return;
    const { federation, folder } = await demoFederation(t);
    if (trouble !== undefined) await federation.trouble.add(trouble);
    const whole = makeTarGz({ 'set/a.txt': 'alpha' });
    writeFileSync(path.join(folder, 'demo/cut.tar.gz'), whole.subarray(0, -20));
    const job = await harness.run(t, federation, {
      executable: '/bin/true',
      transfer_input_files: 'osdf:///demo/cut.tar.gz?pack=auto',
    });
    assert.equal(job.ended, 'held', job.log);
    assert.equal(job.ad['HoldReasonSubCode'], subcode);
  });

test('results go to output_destination, including folders', async (t) => {
  if (skipped(t)) return;
  const { federation, folder } = await demoFederation(t);
  const token = path.join(harness.home, 'token');
  writeFileSync(token, federation.issueToken({ namespace: '/inbox' }), { mode: 0o600 });
  const job = await harness.run(
    t,
    federation,
    {
      executable: '/bin/sh',
      arguments: '"-c \'mkdir runs; echo weights > model.pt; echo loss > runs/log.txt\'"',
      transfer_input_files: token,
      transfer_output_files: 'model.pt, runs',
      output_destination: 'osdf:///inbox/job-1',
    },
    { UPDRAFT_BEARER_TOKEN_FILE: 'token' },
  );
  assert.equal(job.ended, 'completed', job.log);
  assert.equal(readFileSync(path.join(folder, 'inbox/job-1/model.pt'), 'utf8'), 'weights\n');
  assert.equal(readFileSync(path.join(folder, 'inbox/job-1/runs/log.txt'), 'utf8'), 'loss\n');
});

interface TransferAd {
  TransferUrl: string;
  TransferFileName: string;
  DeveloperData: Record<string, unknown>;
}

test("a collection and the content of an archive arrive as folders, and the pool's history records how", async (t) => {
  if (skipped(t)) return;
  const { federation, folder, objects } = await demoFederation(t);
  writeFileSync(path.join(folder, 'demo/set.tar.gz'), makeTarGz({ 'set/a.txt': 'alpha' }));
  const job = await harness.run(t, federation, {
    executable: '/bin/sh',
    arguments: '"-c \'cat sub/small.txt set/a.txt\'"',
    transfer_input_files: 'osdf:///demo/sub?recursive, osdf:///demo/set.tar.gz?pack=auto',
  });
  assert.equal(job.ended, 'completed', job.log);
  assert.equal(readFileSync(job.out, 'utf8'), `${objects.small.toString()}alpha`);
  const [reported] = (await harness.transfers(t, job)) as { InputPluginResultList: TransferAd[] }[];
  const kept = reported?.InputPluginResultList.map(({ TransferUrl, TransferFileName, DeveloperData }) => {
    // The attempt that delivered: on a busy machine a cache may be given up before it.
    const last = Number(DeveloperData['Attempts']) - 1;
    const of = (name: string): unknown => DeveloperData[`${name}${last}`];
    assert.deepEqual(Object.keys(DeveloperData['ServerChecksums'] as object), ['crc32c']);
    assert.deepEqual(
      ['TimeToFirstByte', 'TransferTime', 'Endpoint'].map((name) => typeof of(name)),
      ['number', 'number', 'string'],
      JSON.stringify(DeveloperData),
    );
    assert.match(String(of('ServerVersion')), /^pelican\//);
    return [TransferUrl, TransferFileName, typeof of('CacheHit')];
  });
  assert.deepEqual(kept, [
    ['osdf:///demo/sub?recursive', 'small.txt', 'boolean'],
    ['osdf:///demo/set.tar.gz?pack=auto', 'set.tar.gz', 'boolean'],
  ]);
});
