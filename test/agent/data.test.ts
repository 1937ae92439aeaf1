import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { kinds } from '@updraft/account/fault';
import { demoFederation } from '../mini/demo-federation.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { AgentHarness } from './agent-harness.ts';
import { serveBytes } from './byte-server.ts';
import { makeTarGz } from './tar.ts';

const archive = makeTarGz({ 'set/a.txt': 'alpha', 'set/b.txt': 'beta' });
const sha256 = createHash('sha256').update(archive).digest('hex');
const train = { command: 'cat data/set/a.txt data/set/b.txt > model.pt' };

test('an archive from a server is unpacked where the training looks for it', async (t) => {
  const harness = await AgentHarness.open(t);
  const { url } = await serveBytes(t, archive);
  const data = [{ url: `${url}/set.tar.gz`, sha256, expect: { files: 2, bytes: archive.length } }];
  const { exit, stderr } = await harness.run({ data, train });
  assert.equal(stderr, '');
  assert.equal(exit, 0);
  assert.equal(harness.result('model.pt'), 'alphabeta');
  assert.deepEqual(
    harness.entries('phase').map(({ phase }) => phase),
    ['preparing', 'fetching', 'unpacking', 'training', 'returning', 'cleaning'],
  );
  const [fetched] = harness.entries('fetched');
  assert.equal(fetched?.bytes, archive.length);
  assert.equal(fetched.verified, 'digest');
  const [unpacked] = harness.entries('unpacked');
  assert.equal(unpacked?.files, 2);
  assert.equal(unpacked.bytes, 9);
  assert.equal(unpacked.proven, true);
  assert.deepEqual(harness.leftovers(), []);
});

test('caches named in the order override those of the machine, and the journal says so', async (t) => {
  const harness = await AgentHarness.open(t);
  const { federation, objects } = await demoFederation(t);
  const hosts = federation.caches.map(({ url }) => new URL(url).host);
  const [first, last] = [hosts[0] ?? '', hosts.at(-1) ?? ''];
  const env = {
    UPDRAFT_OSDF_HOST: federation.discoveryHost,
    SSL_CERT_FILE: federation.caFile,
    NEAREST_CACHE: `${first},+`,
  };
  const data = [{ url: 'osdf:///demo/sub/small.txt', unpack: 'none' as const, caches: [last] }];
  const { exit, stderr } = await harness.run(
    { data, avoidCaches: [first], train: { command: 'cp data/small.txt model.pt' } },
    undefined,
    env,
  );
  assert.equal(exit, 0, stderr);
  assert.equal(harness.result('model.pt'), objects.small.toString());
  const [fetched] = harness.entries('fetched');
  const bytes = objects.small.length;
  assert.deepEqual(fetched?.servers, [
    { server: last, bytes, coldBytes: bytes, preferredBy: 'the job file' },
  ]);
  assert.deepEqual(fetched.leftOut, [{ server: first, by: 'the job file', why: 'avoided' }]);
});

test('a token that was revoked ends an attempt with a failure that is retried, and a new one is then used', async (t) => {
  const { federation, objects } = await demoFederation(t);
  const env = { UPDRAFT_OSDF_HOST: federation.discoveryHost, SSL_CERT_FILE: federation.caFile };
  const attempt = async (file: string) => {
    const harness = await AgentHarness.open(t);
    const data = [{ url: 'osdf:///private/secret.txt', unpack: 'none' as const, tokenFile: file }];
    const { exit, stderr } = await harness.run(
      { data, train: { command: 'cp data/* model.pt' } },
      undefined,
      env,
    );
    return { exit, stderr, harness };
  };
  const file = path.join(await temporaryFolder(t), 'token');
  await writeFile(file, federation.issueToken({ namespace: '/private' }));
  for (const { name } of federation.caches) await federation.trouble.add(`${name}: expire-token after 1B`);
  assert.equal((await attempt(file)).exit, 0);
  const { exit, stderr } = await attempt(file);
  assert.equal(exit, kinds['token-expired'].exit, stderr);
  assert.equal(kinds['token-expired'].retry, 'same');
  assert.match(stderr, /token has expired/);
  await federation.trouble.clear();
  await writeFile(file, federation.issueToken({ namespace: '/private' }));
  const { exit: last, harness } = await attempt(file);
  assert.equal(last, 0);
  assert.equal(harness.result('model.pt'), objects.secret.toString());
});

test('a local file is data too, and several sources share a folder', async (t) => {
  const harness = await AgentHarness.open(t);
  await writeFile(harness.at('set.tar.gz'), archive);
  await writeFile(harness.at('labels.csv'), 'a,1\n');
  const data = [
    { name: 'set', url: pathToFileURL(harness.at('set.tar.gz')).href },
    { name: 'labels', url: pathToFileURL(harness.at('labels.csv')).href },
  ];
  const { exit, stderr } = await harness.run({
    data,
    train: { command: 'cat $UPDRAFT_DATA_SET/set/a.txt $UPDRAFT_DATA_LABELS/labels.csv > model.pt' },
  });
  assert.equal(stderr, '');
  assert.equal(exit, 0);
  assert.equal(harness.result('model.pt'), 'alphaa,1\n');
});

test('sources may have the names of our own files beside them', async (t) => {
  const harness = await AgentHarness.open(t);
  const data = await Promise.all(
    ['probe', 'speed', 'software'].map(async (name) => {
      await writeFile(harness.at(`${name}.bin`), name.repeat(1e6));
      return { name, url: pathToFileURL(harness.at(`${name}.bin`)).href };
    }),
  );
  const { exit, stderr } = await harness.run({ data, train: { command: 'head -c 5 data/*.bin > model.pt' } });
  assert.equal(stderr, '');
  assert.equal(exit, 0);
});

test('an archive by xz is refused before anything is unpacked, with the line that repacks it', async (t) => {
  const harness = await AgentHarness.open(t);
  await writeFile(harness.at('set.tar.xz'), Buffer.from('fd377a585a000004e6d6b446', 'hex'));
  const { exit, stderr } = await harness.run({
    data: [{ url: pathToFileURL(harness.at('set.tar.xz')).href }],
    train,
  });
  assert.equal(exit, kinds['archive-kind'].exit);
  assert.match(stderr, /set\.tar\.xz: is compressed by xz, which Updraft does not unpack/);
  assert.match(stderr, /xz -dc set\.tar\.xz \| zstd -T0 > set\.tar\.zst/);
});

test('an object that is not an archive is put in place under its own name', async (t) => {
  const harness = await AgentHarness.open(t);
  const { url } = await serveBytes(t, Buffer.from('1,2,3\n'));
  const { exit, stderr } = await harness.run({
    data: [{ url: `${url}/folder/my%20table.csv`, into: 'deep/data' }],
    train: { command: 'cp "deep/data/my table.csv" model.pt' },
  });
  assert.equal(stderr, '');
  assert.equal(exit, 0);
  assert.equal(harness.result('model.pt'), '1,2,3\n');
});

for (const [what, bytes, exits] of [
  ['cut off', archive.subarray(0, archive.length - 40), [103]],
  ['an HTML page', Buffer.from('<!DOCTYPE html><html><body>Sign in</body></html>'), [102, 104]],
] as const)
  test(`data that is ${what} never reaches the training`, async (t) => {
    const harness = await AgentHarness.open(t);
    await writeFile(harness.at('set.tar.gz'), bytes);
    const { exit, stderr } = await harness.run({
      data: [{ url: pathToFileURL(harness.at('set.tar.gz')).href }],
      train: { command: `echo x > ${harness.at('ran')}` },
    });
    assert.ok(exit !== null && (exits as readonly number[]).includes(exit), `${exit ?? 'signal'}: ${stderr}`);
    assert.ok(stderr.includes('set.tar.gz'), stderr);
    assert.deepEqual(harness.entries('training-started'), []);
    assert.deepEqual(harness.leftovers(), []);
  });

test('an archive that was published damaged costs one attempt only: its digest is right', async (t) => {
  const harness = await AgentHarness.open(t);
  const damaged = Buffer.concat([archive.subarray(0, -40), Buffer.alloc(40, 7)]);
  const hash = createHash('sha256').update(damaged).digest('hex');
  const { url } = await serveBytes(t, damaged);
  const declared = await harness.run({ data: [{ url: `${url}/set.tar.gz`, sha256: hash }], train });
  assert.equal(declared.exit, 104, declared.stderr);
  assert.match(declared.stderr, /its digest is correct, so it was published damaged/);
  assert.deepEqual(harness.entries('fetch-setback'), []);
  await writeFile(harness.at('set.tar.gz'), damaged);
  const file = pathToFileURL(harness.at('set.tar.gz')).href;
  const local = await harness.run({ attempt: 2, data: [{ url: file, sha256: hash }], train });
  assert.equal(local.exit, 104, local.stderr);
  const unknown = await harness.run({ attempt: 3, data: [{ url: `${url}/set.tar.gz` }], train });
  assert.equal(unknown.exit, 103, unknown.stderr);
  assert.deepEqual(harness.entries('training-started'), []);
});

test('data that is not what was expected never reaches the training', async (t) => {
  const harness = await AgentHarness.open(t);
  await writeFile(harness.at('set.tar.gz'), archive);
  const url = pathToFileURL(harness.at('set.tar.gz')).href;
  const few = await harness.run({ data: [{ url, expect: { files: 3 } }], train });
  assert.equal(few.exit, 89);
  const other = await harness.run({ attempt: 2, data: [{ url, sha256: '0'.repeat(64) }], train });
  assert.equal(other.exit, 101);
  const gone = await harness.run({ attempt: 3, data: [{ url: `${url}.none` }], train });
  assert.equal(gone.exit, 96);
  assert.match(gone.stderr, /set\.tar\.gz\.none does not exist/);
});

test('a wrong expectation ends the job after two downloads that agree, of an archive and of a file', async (t) => {
  const harness = await AgentHarness.open(t);
  const { url } = await serveBytes(t, archive);
  const object = `${url}/set.tar.gz`;
  const wrong = [
    { url: object, sha256: '0'.repeat(64) },
    { url: object, expect: { files: 3 } },
    { url: object, sha256: '0'.repeat(64), unpack: 'none' as const },
  ];
  for (const [at, source] of wrong.entries()) {
    const { exit, stderr } = await harness.run({ attempt: at + 1, data: [source], train });
    assert.equal(exit, 89, stderr);
    assert.match(stderr, /127\.0\.0\.1:\d+ sent the same twice/);
    assert.equal(harness.entries('fetch-setback').length, 1);
    if (source.sha256 !== undefined)
      assert.match(stderr, new RegExp(`is ${sha256}, should be ${source.sha256}`));
  }
  assert.deepEqual(harness.entries('training-started'), []);
});

test('a manifest that was sent along verifies the data', async (t) => {
  const harness = await AgentHarness.open(t);
  const manifest = { bytes: archive.length, chunkBytes: 4096, sha256, chunks: [sha256] };
  const { url } = await serveBytes(t, archive);
  const data = [{ url: `${url}/set.tar.gz`, manifest: 'set.json' }];
  const good = await harness.run({
    data,
    train: { ...train, files: [] },
    files: { 'set.json': JSON.stringify(manifest) },
  });
  assert.equal(good.stderr, '');
  assert.equal(harness.entries('fetched')[0]?.verified, 'manifest');
  const none = await harness.run({
    attempt: 2,
    data: [{ url: `${url}/set.tar.gz`, manifest: 'none.json' }],
    train,
  });
  assert.equal(none.exit, 117);
  assert.match(none.stderr, /none\.json/);
});
