import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { adoptTransfers } from '../../src/agent/order/order.ts';
import type { WorkOrder } from '../../src/job/job.ts';
import { sandboxFiles } from '@updraft/account/run-folder';
import { type AgentEntry, readJournal } from '@updraft/account/journal';
import type { MiniFederation } from '@updraft/mini/federation';
import { demoFederation } from '../mini/demo-federation.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { callPlugin } from './call-plugin.ts';

const secret = 'osdf:///private/secret.txt';

/** The sandbox of the second attempt at one of our jobs, as HTCondor has it when it calls the plugin. */
async function sandbox(t: TestContext, source: Record<string, unknown>, token: string): Promise<string> {
  const train = { command: 'true', files: [], outputs: ['model.pt'], env: {} };
  const data = { name: 'd', url: secret, into: 'data', unpack: 'none', expect: {}, delivered: 'secret.txt' };
  const order = {
    version: 1,
    run: 'bench',
    job: { id: '0003', parameters: {}, train },
    data: [{ ...data, tokenFile: 'token.d', ...source }],
    environment: { python: [] },
    resources: { cpus: 1, gpus: 0, memoryBytes: 1 },
  };
  return await temporaryFolder(t, {
    '0003.json': JSON.stringify(order),
    '.job.ad': 'UpdraftJob = "0003"\nNumShadowStarts = 2\n',
    'token.d': token,
  });
}

const bring = (folder: string, federation: MiniFederation) =>
  callPlugin({
    folder,
    federation,
    requests: [{ url: secret, file: path.join(folder, 'secret.txt') }],
    env: { _CONDOR_JOB_AD: path.join(folder, '.job.ad') },
  });

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

test("the plugin uses the token that was sent along, and its journal becomes the start of the attempt's", async (t) => {
  const { federation, objects } = await demoFederation(t);
  const token = federation.issueToken({ namespace: '/private' });
  // The last cache that the director names; the job file prefers it, and avoids the first.
  const hosts = federation.caches.map(({ url }) => new URL(url).host);
  const [first, last] = [hosts[0] ?? '', hosts.at(-1) ?? ''];
  const wishes = { caches: [last], avoidCaches: [first] };
  const folder = await sandbox(t, { sha256: sha256(objects.secret), ...wishes }, token);
  const { exit, stderr } = await bring(folder, federation);
  assert.equal(exit, 0, stderr);
  const attemptFolder = path.join(folder, 'jobs/0003/attempt-2');
  mkdirSync(attemptFolder, { recursive: true });
  const { brought } = await adoptTransfers({ attemptFolder } as WorkOrder, folder);
  assert.deepEqual(
    brought?.map(({ object, bytes, verified }) => [object, bytes, verified]),
    [[secret, objects.secret.length, 'digest']],
  );
  const [only] = brought[0]?.servers ?? [];
  assert.deepEqual([only?.server, only?.preferredBy], [last, 'the job file']);
  assert.deepEqual(brought[0]?.leftOut, [{ server: first, by: 'the job file', why: 'avoided' }]);
  assert.ok(!existsSync(path.join(folder, sandboxFiles.transfers)));
  const { entries } = await readJournal(path.join(attemptFolder, 'agent.jsonl'));
  assert.ok((entries as AgentEntry[]).every(({ job, attempt }) => job === '0003' && attempt === 2));
  const phases = entries.flatMap((entry) => (entry.kind === 'phase' ? [entry.phase] : []));
  assert.deepEqual(phases, ['preparing', 'fetching', 'preparing']);
  assert.ok(!readFileSync(path.join(attemptFolder, 'agent.jsonl'), 'utf8').includes(token));
  assert.equal((await adoptTransfers({ attemptFolder } as WorkOrder, folder)).brought, undefined);
});

test('the plugin compares the bytes with the digest in the job file', async (t) => {
  const { federation } = await demoFederation(t);
  const folder = await sandbox(
    t,
    { sha256: '0'.repeat(64) },
    federation.issueToken({ namespace: '/private' }),
  );
  const { exit, stderr } = await bring(folder, federation);
  assert.deepEqual([exit, /SHA-256/.test(stderr)], [1, true], stderr);
  assert.ok(!existsSync(path.join(folder, 'secret.txt')));
});

test('in a job that is not ours nothing is written besides what was requested', async (t) => {
  const { federation } = await demoFederation(t);
  const folder = await temporaryFolder(t);
  writeFileSync(path.join(folder, 'ad'), 'NumShadowStarts = 1\n');
  const requests = [{ url: 'osdf:///demo/sub/small.txt', file: path.join(folder, 'small.txt') }];
  const env = { _CONDOR_JOB_AD: path.join(folder, 'ad') };
  assert.equal((await callPlugin({ folder, federation, requests, env })).exit, 0);
  assert.ok(!existsSync(path.join(folder, sandboxFiles.transfers)));
});
