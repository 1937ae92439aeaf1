import assert from 'node:assert/strict';
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { type Ad, attributeOf } from '@updraft/htcondor/classad';
import { makeTarGz } from '../agent/tar.ts';
import { demoFederation } from '../mini/demo-federation.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { adOf, callPlugin, runAgent, textAt } from './call-plugin.ts';

const big = 'osdf:///demo/big.bin';
const small = 'osdf:///demo/sub/small.txt';
const none = 'osdf:///demo/none.txt';

test('-classad describes what the plugin can do', async () => {
  const { stdout, exit } = await runAgent(['-classad']);
  assert.equal(exit, 0);
  assert.match(stdout, /^MultipleFileSupport = true$/m);
  assert.match(stdout, /^PluginType = "FileTransfer"$/m);
  assert.match(stdout, /^SupportedMethods = "osdf,pelican,stash"$/m);
});

test('several files are fetched at once, even with unknown settings among the requests', async (t) => {
  const { federation, objects } = await demoFederation(t);
  const folder = await temporaryFolder(t);
  const file = (name: string): string => path.join(folder, name);
  const more = { PluginData: { Url: 'osdf:///not/me', list: [1, { a: '][' }] } };
  const { exit, ads, stderr } = await callPlugin({
    folder,
    federation,
    requests: [
      { url: big, file: file('big.bin'), more },
      { url: small, file: 'here.txt' },
    ],
  });
  assert.equal(exit, 0, stderr);
  assert.equal(ads.length, 2);
  assert.ok(readFileSync(file('big.bin')).equals(objects.big));
  assert.ok(readFileSync(file('here.txt')).equals(objects.small));
  assert.equal(attributeOf(adOf(ads, big), 'TransferFileBytes'), objects.big.length);
  assert.equal(statSync(file('.updraft_plugin.out')).size, 19264);
});

test('one missing object fails alone, and the job is not to be retried', async (t) => {
  const { federation, objects } = await demoFederation(t);
  const folder = await temporaryFolder(t, {
    machine: 'GLIDEIN_ResourceName = "A-Site"\nMachine = "node7.example"\n',
  });
  const requests = [none, big, small].map((url) => ({ url, file: path.join(folder, path.basename(url)) }));
  const env = { _CONDOR_MACHINE_AD: path.join(folder, 'machine') };
  const { exit, ads } = await callPlugin({ folder, federation, requests, env });
  assert.equal(exit, 1);
  assert.deepEqual(
    [none, big, small].map((url) => attributeOf(adOf(ads, url), 'TransferSuccess')),
    [false, true, true],
  );
  assert.match(textAt(ads[0], 'TransferError'), /none\.txt.*404.*site A-Site, host node7\.example/);
  assert.equal(textAt(ads[0], 'TransferFileName'), 'none.txt');
  assert.ok(readFileSync(path.join(folder, 'big.bin')).equals(objects.big));
  assert.ok(!existsSync(path.join(folder, 'none.txt')));
});

test('a cache that stalls costs only its stall, and is named among the attempts', async (t) => {
  const { federation, objects } = await demoFederation(t);
  await federation.trouble.add('cache-1: stall after 100kB');
  const folder = await temporaryFolder(t);
  const requests = [{ url: big, file: path.join(folder, 'big.bin') }];
  const { exit, ads, stderr } = await callPlugin({
    folder,
    federation,
    requests,
    env: { UPDRAFT_STALL_SECONDS: '1' },
  });
  assert.equal(exit, 0, stderr);
  assert.ok(readFileSync(path.join(folder, 'big.bin')).equals(objects.big));
  const data = attributeOf(adOf(ads, big), 'DeveloperData') as Ad;
  assert.equal(attributeOf(data, 'Verified'), 'digest');
  // On a busy machine another cache takes over before the stall limit: either way the silent one is named.
  assert.match(textAt(data, 'TransferError0'), /then nothing for|fell silent/);
});

test('a missing token is reported as such, with the places searched and without a secret', async (t) => {
  const { federation } = await demoFederation(t);
  const folder = await temporaryFolder(t);
  const requests = [{ url: 'osdf:///private/secret.txt', file: path.join(folder, 's') }];
  const { exit, ads } = await callPlugin({ folder, federation, requests });
  assert.equal(exit, 1);
  assert.match(textAt(ads[0], 'TransferError'), /\/private asks for a token and none was found/);
});

test("HTCondor's credentials are used, and never shown", async (t) => {
  const { federation, objects } = await demoFederation(t);
  const token = federation.issueToken({ namespace: '/private' });
  const folder = await temporaryFolder(t, { 'creds/scitokens.use': token });
  const requests = [{ url: 'osdf:///private/secret.txt', file: path.join(folder, 's') }];
  const env = { _CONDOR_CREDS: path.join(folder, 'creds') };
  const { exit, stderr } = await callPlugin({ folder, federation, requests, env });
  assert.equal(exit, 0, stderr);
  assert.ok(readFileSync(path.join(folder, 's')).equals(objects.secret));
  assert.ok(!readFileSync(path.join(folder, '.updraft_plugin.out'), 'utf8').includes(token));
});

test('a collection becomes a folder with ?recursive, and an archive is unpacked with ?pack', async (t) => {
  const { federation, folder: origin, objects } = await demoFederation(t);
  writeFileSync(path.join(origin, 'demo/set.tar.gz'), makeTarGz({ 'set/a.txt': 'alpha' }));
  const folder = await temporaryFolder(t);
  const [all, packed] = ['osdf:///demo/sub?recursive', 'osdf:///demo/set.tar.gz?pack=auto'];
  const requests = [all, packed].map((url) => ({ url, file: path.join(folder, path.basename(url)) }));
  const { exit, ads, stderr } = await callPlugin({ folder, federation, requests });
  assert.equal(exit, 0, stderr);
  assert.ok(readFileSync(path.join(folder, 'sub/small.txt')).equals(objects.small));
  assert.equal(readFileSync(path.join(folder, 'set/a.txt'), 'utf8'), 'alpha');
  assert.equal(attributeOf(adOf(ads, all), 'TransferFileBytes'), objects.small.length);
});

test('an archive that one cache damages is unpacked from another', async (t) => {
  const { federation, folder: origin } = await demoFederation(t);
  writeFileSync(path.join(origin, 'demo/set.tar.gz'), makeTarGz({ 'set/a.txt': 'alpha' }));
  await federation.trouble.add('cache-1: corrupt at 0 length 16B on set.tar.gz');
  const folder = await temporaryFolder(t);
  const url = 'osdf:///demo/set.tar.gz?pack=auto';
  const requests = [{ url, file: path.join(folder, path.basename(url)) }];
  const { exit, ads, stderr } = await callPlugin({ folder, federation, requests });
  assert.equal(exit, 0, stderr);
  assert.equal(readFileSync(path.join(folder, 'set/a.txt'), 'utf8'), 'alpha');
  const data = attributeOf(adOf(ads, url), 'DeveloperData') as Ad;
  assert.match(textAt(data, 'TransferError0'), /crc32c is/);
});

test('the results give for each attempt and object what operators read', async (t) => {
  const { federation, folder: origin } = await demoFederation(t);
  writeFileSync(path.join(origin, 'demo/sub/other.txt'), 'other');
  writeFileSync(path.join(origin, 'demo/one.txt'), 'one');
  writeFileSync(path.join(origin, 'demo/sub/empty.txt'), '');
  const folder = await temporaryFolder(t);
  const [all, one] = ['osdf:///demo/sub?recursive', 'osdf:///demo/one.txt'];
  const requests = [all, one].map((url) => ({ url, file: path.join(folder, path.basename(url)) }));
  await callPlugin({ folder, federation, requests });
  const { exit, ads, stderr } = await callPlugin({ folder, federation, requests });
  assert.equal(exit, 0, stderr);
  assert.deepEqual(ads.map((ad) => [textAt(ad, 'TransferUrl'), textAt(ad, 'TransferFileName')]).sort(), [
    [one, 'one.txt'],
    [all, 'empty.txt'],
    [all, 'other.txt'],
    [all, 'small.txt'],
  ]);
  for (const ad of ads) {
    const data = attributeOf(ad, 'DeveloperData') as Ad;
    const at = (name: string) => attributeOf(data, name);
    const bytes = attributeOf(ad, 'TransferFileBytes');
    assert.deepEqual(['Attempts', 'TransferFileBytes0'].map(at), [1, bytes], JSON.stringify(data));
    assert.match(textAt(data, 'Endpoint0'), /^127\.0\.0\.1:\d+$/);
    if (bytes === 0) continue;
    assert.equal(at('CacheHit0'), true);
    assert.ok(textAt(data, 'ServerVersion0') !== '');
    for (const name of ['TimeToFirstByte0', 'TransferTime0', 'DataAge0', 'TransferEndTime0'])
      assert.equal(typeof at(name), 'number', name);
    const [client, server] = [at('ClientChecksums') as Ad, at('ServerChecksums') as Ad];
    assert.deepEqual(client, server);
    assert.equal(Object.keys(client).length, 1);
  }
});

test('the plugin uses a preferred cache first and reports whose preference it was, from the job ad or a variable', async (t) => {
  const { federation } = await demoFederation(t);
  const folder = await temporaryFolder(t);
  const requests = [{ url: small, file: path.join(folder, 'small.txt') }];
  const served = async (env: Record<string, string>) => {
    const { exit, ads, stderr } = await callPlugin({ folder, federation, requests, env });
    assert.equal(exit, 0, stderr);
    const data = attributeOf(ads[0]!, 'DeveloperData') as Ad;
    return ['Endpoint0', 'PreferredBy0', 'NotAsked'].map((name) => attributeOf(data, name));
  };
  const hosts = federation.caches.map(({ url }) => new URL(url).host);
  const [first, second] = [hosts[0] ?? '', hosts.at(-1) ?? ''];
  assert.deepEqual(await served({ OSDF_NEAREST_CACHE: `${second},+` }), [
    second,
    'OSDF_NEAREST_CACHE',
    undefined,
  ]);
  const ad = path.join(folder, 'job.ad');
  writeFileSync(ad, `PelicanCfg_Client_PreferredCaches = "https://${second} +"\n`);
  assert.deepEqual(await served({ _CONDOR_JOB_AD: ad, UPDRAFT_AVOID_CACHES: first }), [
    second,
    'PelicanCfg_Client_PreferredCaches of the job',
    [`${first} (avoided by UPDRAFT_AVOID_CACHES)`],
  ]);
});

test('of two objects that would become one file the second is refused, the first is fetched', async (t) => {
  const { federation } = await demoFederation(t);
  const folder = await temporaryFolder(t);
  const requests = [small, big, small].map((url) => ({ url, file: path.join(folder, 'same') }));
  const { exit, ads } = await callPlugin({ folder, federation, requests });
  assert.equal(exit, 1);
  assert.equal(ads.length, 3);
  assert.match(textAt(adOf(ads, big), 'TransferError'), /would both become same/);
  assert.equal(attributeOf(adOf(ads, small), 'TransferSuccess'), true);
});

test('requests that cannot be parsed are answered with an ad that says so', async (t) => {
  const folder = await temporaryFolder(t, { '.updraft_plugin.in': '[ Url = "osdf:///a"; ' });
  const { exit, ads } = await callPlugin({ folder });
  assert.equal(exit, 1);
  assert.equal(attributeOf(ads[0] ?? {}, 'TransferSuccess'), false);
  assert.match(textAt(ads[0], 'TransferError'), /updraft_plugin\.in cannot be read: not a ClassAd/);
});

test('an outfile that cannot be written exits with 3, unknown arguments with 1', async (t) => {
  const folder = await temporaryFolder(t, { in: '' });
  const outfile = path.join(folder, 'no/such/folder');
  const { exit, stderr } = await runAgent(['-infile', path.join(folder, 'in'), '-outfile', outfile]);
  assert.equal(exit, 3);
  assert.match(stderr, /no\/such\/folder cannot be written/);
  assert.equal((await runAgent(['-infile', 'x', '-nonsense'])).exit, 1);
});

test('a plugin that is asked to stop reports every file as stopped, to be retried', async (t) => {
  const { federation } = await demoFederation(t);
  await federation.trouble.add('all: stall after 1kB');
  const folder = await temporaryFolder(t);
  const requests = [{ url: big, file: path.join(folder, 'big.bin') }];
  const asked = Promise.withResolvers<number>();
  const called = callPlugin({ folder, federation, requests, started: asked.resolve });
  const pid = await asked.promise;
  while (!existsSync(path.join(folder, 'big.bin.updraft-part')))
    await new Promise((wake) => setTimeout(wake, 20));
  process.kill(pid, 'SIGTERM');
  const { exit, ads } = await called;
  assert.equal(exit, 11);
  assert.match(textAt(ads[0], 'TransferError'), /asked to leave the machine/);
});
