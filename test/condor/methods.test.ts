import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { suite, test, type TestContext } from 'node:test';
import * as compare from '../../src/cli/commands/compare.ts';
import * as why from '../../src/cli/commands/why.ts';
import { type MiniFederation, startFederation } from '@updraft/mini/federation';
import { policyOfJob, writtenPolicy } from '../../src/pool/condor/submit/condor-policy.ts';
import { runReport } from '@updraft/account/report';
import { makeTarGz } from '../agent/tar.ts';
import { runCommand } from '../cli/run-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { condorHarness, limitIdle, onlyJob, type CondorHarness } from './condor-harness.ts';
import { federationEnv } from './published-cifar.ts';

const methods = ['native', 'https', 'osdf', 'stream'] as const;
type Method = (typeof methods)[number];

interface Published {
  federation: MiniFederation;
  folder: string;
  sha256: string;
}

/** The same archive under one name per method, so that each meets the trouble for the first time. */
async function published(t: TestContext): Promise<Published> {
  const folder = await temporaryFolder(t);
  const archive = makeTarGz({ 'set/a.bin': randomBytes(3_000_000), 'set/b.txt': 'b' });
  for (const method of methods) writeFileSync(path.join(folder, `${method}.tar.gz`), archive);
  const federation = await startFederation({
    namespaces: [
      { prefix: '/public', folder, public: true },
      { prefix: '/private', folder, public: false },
    ],
  });
  t.after(() => federation[Symbol.asyncDispose]());
  return { federation, folder, sha256: createHash('sha256').update(archive).digest('hex') };
}

const urlOf = (method: Method, namespace: string, { federation, folder }: Published): string => {
  const name = `${method}.tar.gz`;
  if (method === 'native') return `file://${folder}/${name}`;
  return method === 'https'
    ? `${federation.caches[0]?.url}${namespace}/${name}`
    : `osdf://${namespace}/${name}`;
};

function jobFile(method: Method, url: string, more = '', attempts = 5): string {
  return `
name = "by-${method}"
[train]
command = "ls data/set > out.txt"
outputs = ["out.txt"]
[data.set]
url = "${url}"
method = "${method}"
into = "data"
${more}
[resources]
disk = "1 GB"
memory = "200 MB"
[run]
pool = "condor"
attempts = ${attempts}
`;
}

const harness = (t: TestContext, { federation }: Published, files: Record<string, string>) =>
  condorHarness(t, files, { env: { ...federationEnv(federation), UPDRAFT_STALL_SECONDS: '3' } });

const reportOf = async (run: string, here: CondorHarness) => {
  const state = await here.finish(run);
  const job = onlyJob(state);
  return { state, job, report: runReport(run, state), fetch: job.attempts.at(-1)?.agent?.fetches[0] };
};

test('the same trouble is reported in the same terms and columns, whatever the method', async (t) => {
  const all = await published(t);
  const [cache1] = all.federation.caches;
  for (const method of methods)
    await all.federation.trouble.add(`cache-1: stall after 1MB on *${method}.tar.gz first 1`);
  const accounts = await Promise.all(
    methods.map(async (method) => {
      const file = jobFile(method, urlOf(method, '/public', all), `sha256 = "${all.sha256}"`);
      const here = await harness(t, all, { 'updraft.toml': file });
      return here === undefined ? undefined : { method, run: await here.submit(), here };
    }),
  );
  const columns = new Set<string>();
  for (const account of accounts) {
    if (account === undefined) return;
    const { method, run, here } = account;
    const { job, report, fetch } = await reportOf(run, here);
    assert.equal(job.outcome, 'success', `${method}: ${JSON.stringify(job.attempts.at(-1)?.fault)}`);
    columns.add(Object.keys(report.slotSeconds).join());
    assert.equal(fetch?.verified, 'digest', method);
    // For HTCondor's own transfer only the file's times are known, which may be within one tick of the kernel's clock.
    assert.ok((fetch.seconds ?? -1) >= (method === 'native' ? 0 : 0.001), method);
    const given = report.caches.map(({ name, setbacks }) => `${name} ${setbacks}`);
    const { retriedTransfer, usefulTransfer } = report.slotSeconds;
    t.diagnostic(`${method}: stalled ${retriedTransfer}, useful ${usefulTransfer}; ${given.join(', ')}`);
    if (method === 'native') {
      assert.deepEqual([given, retriedTransfer], [['access point localhost 0'], 0]);
      continue;
    }
    // On a busy machine another server may seem to stall, too.
    const stalled = report.caches.find(({ name }) => name === new URL(cache1?.url ?? '').host);
    assert.ok((stalled?.setbacks ?? 0) >= 1, `${method}: ${given.join()}`);
    assert.deepEqual([...new Set(fetch.setbacks.map(({ fault }) => fault.kind))], ['transfer-stalled']);
    // Three seconds without a byte; progress, reported once a second, may cover one of them.
    assert.ok(retriedTransfer >= 1.5, `${method}: ${retriedTransfer}`);
    const shares = report.caches.reduce((sum, { share }) => sum + (share ?? 0), 0);
    assert.ok(Math.abs(shares - 1) < 1e-9);
  }
  assert.equal(columns.size, 1);
});

test('one run compares methods, each with its URL and request: its jobs differ, late ones too', async (t) => {
  const all = await published(t);
  const memoryOf = (method: Method): number => (method === 'native' || method === 'osdf' ? 100 : 150);
  const ways = methods.map(
    (method) =>
      `{ method = "${method}", url = "${urlOf(method, '/public', all)}", memory = ${memoryOf(method)} }`,
  );
  const file = jobFile('stream', '{url}')
    .replace('method = "stream"', 'method = "{method}"')
    .replace('"200 MB"', '"{memory} MB"')
    .concat(`repeat = 2\nmatrix.way = [${ways.join(', ')}]\n`);
  const here = await harness(t, all, { ...limitIdle(2), 'updraft.toml': file });
  if (here === undefined) return;
  const run = await here.submit();
  const { jobs } = await here.finish(run);
  const objects = jobs.map(({ attempts }) => path.basename(attempts.at(-1)?.agent?.fetches[0]?.object ?? ''));
  const round = methods.map((method) => `${method}.tar.gz`);
  assert.deepEqual(
    jobs.map(({ outcome }) => outcome),
    Array<string>(8).fill('success'),
  );
  assert.deepEqual(objects, [...round, ...round]);
  const asked = await here.ask(
    `UpdraftRun == "${path.basename(run)}"`,
    'UpdraftJob',
    'RequestMemory',
    'ClusterId',
  );
  const rows = asked.map((line) => line.split(' ')).sort();
  assert.equal(new Set(rows.map(([, , cluster]) => cluster)).size, 1);
  assert.deepEqual(
    rows.map(([, memory]) => memory),
    ['96', '144', '96', '144', '96', '144', '96', '144'],
  );
  const policy = await writtenPolicy(run);
  const limits = jobs.map(({ id }) => policy && policyOfJob(policy, id).memory.asked);
  assert.deepEqual(
    limits,
    [...methods, ...methods].map((method) => memoryOf(method) * 1e6),
  );
  const { out } = await runCommand(compare, [run], { env: here.env, cwd: here.folder });
  for (const method of methods) assert.match(out, new RegExp(`^ +${method} +2 +2 +`, 'm'));
});

// Each mostly waits for the pool.
suite('on one pool', { concurrency: true }, () => {
  for (const method of ['osdf', 'https'] as const)
    test(`private data reaches the job by ${method}, with the token sent along`, async (t) => {
      const all = await published(t);
      const file = jobFile(method, urlOf(method, '/private', all), 'token_file = "token"', 1);
      const token = all.federation.issueToken();
      const here = await harness(t, all, { 'updraft.toml': file, token });
      if (here === undefined) return;
      const { job } = await reportOf(await here.submit(), here);
      assert.equal(job.outcome, 'success', JSON.stringify(job.attempts.at(-1)?.fault ?? job.held));
    });

  for (const [what, more, kind, words] of [
    ['no token', '', 'token-missing', /osdf:\S+ needs a token,\s+and the\s+job has none[\s\S]*`token_file`/],
    ['a token that is refused', 'token_file = "token"', 'token-refused', /denied\s+access\s+to\s+osdf:/],
  ] as const)
    test(`private data by osdf with ${what} is one hold, without retries`, async (t) => {
      const all = await published(t);
      const token = all.federation.issueToken({ scope: 'storage.read:/elsewhere' });
      const file = jobFile('osdf', urlOf('osdf', '/private', all), more);
      const here = await harness(t, all, { 'updraft.toml': file, token });
      if (here === undefined) return;
      const run = await here.submit();
      const { job } = await reportOf(run, here);
      assert.deepEqual([job.outcome, job.attempts.length, job.held?.kind], ['held', 1, kind]);
      const log = await readFile(path.join(run, 'events.log'), 'utf8');
      assert.equal(log.match(/^012 /gm)?.length, 1);
      assert.match((await runCommand(why, [run, '0000'], { env: here.env, cwd: here.folder })).out, words);
    });

  test('input that never arrives is lost time, and the report names the servers that failed', async (t) => {
    const all = await published(t);
    for (const server of ['caches', 'origin']) await all.federation.trouble.add(`${server}: 404 on *.gz`);
    // HTCondor's log has whole seconds.
    await all.federation.trouble.add('director: delay 2s');
    const here = await harness(t, all, {
      'updraft.toml': jobFile('osdf', urlOf('osdf', '/public', all), '', 1),
    });
    if (here === undefined) return;
    const { job, report } = await reportOf(await here.submit(), here);
    assert.equal(job.outcome, 'held');
    t.diagnostic(job.held?.message ?? '');
    const { federation } = all;
    const servers = [federation.origin, ...federation.caches].map(({ url }) => new URL(url).host);
    assert.deepEqual(report.caches.map(({ name }) => name).sort(), servers.sort());
    assert.ok(report.caches.every(({ setbacks, bytes }) => setbacks > 0 && bytes === 0));
    const { retriedTransfer, usefulTransfer } = report.slotSeconds;
    assert.ok(retriedTransfer > 0 && usefulTransfer === 0, `${retriedTransfer} ${usefulTransfer}`);
  });
});
