import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import packageJson from '../../package.json' with { type: 'json' };
import { configure } from '../../src/cli/commands/env.ts';
import { startFederation } from '@updraft/mini/federation';
import { runCommand } from '../cli/run-command.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { loadPlan } from '../../src/job/load-plan.ts';
import { makeExecutable, makePack, unpackTiny } from '../environment/make-pack.ts';
import { condorHarness, type CondorHarness, onlyJob, result } from './condor-harness.ts';
import { makeImage, uncompressed } from './make-image.ts';
import { federationEnv } from './published-cifar.ts';

const job = (agent: string): string => `
name = "light"
[train]
command = "echo trained > out.txt"
outputs = ["out.txt"]
[run]
pool = "condor"
attempts = 1
[pool]
agent = "${agent}"
`;

/** A user whose agent is published; HTCondor's own plugin fetches it from a cache over plain HTTP. */
async function published(t: TestContext) {
  const folder = await temporaryFolder(t);
  const federation = await startFederation({
    caches: 1,
    namespaces: [{ prefix: '/agents', folder, public: true, writable: true }],
  });
  t.after(() => federation.stop());
  const harness = await condorHarness(
    t,
    { token: federation.issueToken() },
    { env: federationEnv(federation), sends: true },
  );
  if (harness === undefined) return undefined;
  const asked = ['agent', 'osdf:///agents/v1', '--token-file', 'token', '--quiet'];
  const { out } = await runCommand({ configure }, asked, {
    cwd: harness.folder,
    env: harness.env,
    version: packageJson.version,
  });
  const [, url = ''] = /^\[pool\]\nagent = "(osdf:\/\/\/agents\/v1\/\S+-[0-9a-f]{64}\.gz)"$/m.exec(out) ?? [];
  assert.notEqual(url, '', out);
  const cached = url.replace('osdf://', federation.caches[0]?.httpUrl ?? '');
  await writeFile(path.join(harness.folder, 'updraft.toml'), job(cached));
  return { federation, harness, object: path.join(folder, url.replace('osdf:///agents/', '')) };
}

test('jobs fetch the agent through a cache, and the access point sends none', async (t) => {
  const user = await published(t);
  if (user === undefined) return;
  const { federation, harness, object } = user;
  const fromOrigin = (): number => federation.counters.server(federation.origin.name).bytes;
  const before = fromOrigin();
  for (const time of ['first', 'second']) {
    const run = await harness.submit();
    const state = onlyJob(await harness.finish(run));
    assert.equal(state.outcome, 'success', `${time}: ${JSON.stringify(state.attempts.at(-1)?.fault)}`);
    assert.equal(await result(run, 'out.txt'), 'trained\n');
    assert.ok(!(await readdir(path.join(run, 'condor'))).includes('updraft-agent.gz'));
  }
  // The second job's agent came from the cache alone.
  assert.equal(fromOrigin() - before, await stat(object).then(({ size }) => size));

  const pack = makeExecutable(makePack(), { unpacker: unpackTiny() });
  await writeFile(path.join(path.dirname(object), 'env.sh'), pack);
  const toml = await readFile(path.join(harness.folder, 'updraft.toml'), 'utf8');
  const packed = `[environment.pack]\nurl = "osdf:///agents/v1/env.sh"\nsha256 = "${hash('sha256', pack)}"\n`;
  await writeFile(
    path.join(harness.folder, 'updraft.toml'),
    `${toml.replace('echo trained', 'tiny')}${packed}[resources]\nmemory = "500 MB"\n`,
  );
  const run = await harness.submit();
  assert.equal(onlyJob(await harness.finish(run)).outcome, 'success');
  assert.match(await result(run, 'out.txt'), /^tiny in /);
  const sent = await sentTo(harness, run);
  assert.ok(sent < 1e6, `${sent} bytes through the access point`);
});

/** Bytes that HTCondor itself sent to the only job's last attempt: not those that plugins fetched. */
async function sentTo(harness: CondorHarness, run: string): Promise<number> {
  const stats = 'TransferInputStats.CedarSizeBytesLastRun';
  const [bytes] = await harness.ask(`UpdraftRun == "${path.basename(run)}"`, stats);
  return Number(bytes);
}

test('jobs run the agent of their image, and none is sent, unless the image has that of another build', async (t) => {
  const folder = await temporaryFolder(t);
  const federation = await startFederation({
    caches: 1,
    namespaces: [{ prefix: '/images', folder, public: true }],
  });
  t.after(() => federation.stop());
  const harness = await condorHarness(t, {}, { env: federationEnv(federation), sends: true });
  if (harness === undefined) return;
  const agent = await readFile(harness.env['UPDRAFT_AGENT'] ?? '');
  const place = (bytes: string | Buffer): string =>
    `/usr/local/bin/updraft-agent-${packageJson.version}-linux-${os.arch()}-${hash('sha256', bytes)}`;
  const image = path.join(harness.folder, 'image');
  await makeImage(image, undefined, ['ln']);
  await mkdir(path.join(image, 'usr/local/bin'), { recursive: true });
  await writeFile(path.join(image, place(agent)), agent, { mode: 0o755 });
  await harness.tool('apptainer', 'build', ...uncompressed, path.join(folder, 'image.sif'), image);
  const [cache] = federation.caches;
  const figures: string[] = [];
  for (const [named, isSent] of [
    [agent, false],
    ['another build', true],
  ] as const) {
    const boxed = `[environment]\nimage = "${cache?.httpUrl ?? ''}/images/image.sif"\n[resources]\ndisk = "1 GB"\n`;
    await writeFile(path.join(harness.folder, 'updraft.toml'), `${job(`image:${place(named)}`)}${boxed}`);
    const run = await harness.submit();
    const state = onlyJob(await harness.finish(run));
    assert.equal(state.outcome, 'success', JSON.stringify(state.attempts.at(-1)?.fault ?? state.held));
    assert.equal(await result(run, 'out.txt'), 'trained\n');
    const sent = await sentTo(harness, run);
    figures.push(`${sent} bytes`);
    assert.equal(sent > 1e6, isSent, figures.join());
    const { sent: said } = await harness.pool.render(
      await loadPlan(harness.folder, { cwd: harness.folder }),
      'r',
    );
    assert.match(
      said?.join() ?? '',
      isSent ? /that is another version or build/ : /the agent is in the image/,
    );
  }
  t.diagnostic(`through the access point: ${figures.join(' with the agent in the image, ')} without`);
});

test('an agent that is not the published one is refused, and the fault says so', async (t) => {
  const user = await published(t);
  if (user === undefined) return;
  const { federation, harness, object } = user;
  await writeFile(object, 'another program');
  await federation.evict();
  const run = await harness.submit();
  const { outcome, attempts } = onlyJob(await harness.finish(run));
  assert.equal(outcome, 'failed');
  assert.equal(attempts.at(-1)?.fault?.kind, 'data-corrupt', JSON.stringify(attempts.at(-1)));
  const said = await readFile(path.join(run, 'condor/said/0000.err'), 'utf8');
  assert.match(said, /is not the agent that was published: its SHA-256 is [0-9a-f]{64}/);
});

test('HTCondor sends a common agent once to a machine, apart from the attempts, and they all run', async (t) => {
  const harness = await condorHarness(
    t,
    {
      'updraft.toml': job('common').replace(
        'attempts = 1',
        `jobs = 3\nrequirements = 'TARGET.GLIDEIN_ResourceName == "PDX-Coeus-CE1"'`,
      ),
    },
    { sends: true },
  );
  if (harness === undefined) return;
  const run = await harness.submit();
  const text = await readFile(path.join(run, 'condor/job.sub'), 'utf8');
  if (!text.includes('transfer_common_input')) {
    t.skip('HTCondor here is older than 25.14');
    return;
  }
  const { tally } = await harness.finish(run);
  assert.equal(tally.success, 3);
  const log = await readFile(path.join(run, 'events.log'), 'utf8');
  assert.deepEqual(log.match(/^047 .*TransferStarted/gm)?.length, 1, log);
  const received = await harness.ask(`UpdraftRun == "${path.basename(run)}"`, 'BytesRecvd');
  assert.ok(
    received.every((bytes) => Number(bytes) < 1e6),
    received.join(),
  );
});
