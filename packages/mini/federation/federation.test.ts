import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import tls from 'node:tls';
import { once } from 'node:events';
import { promisify } from 'node:util';
import { ask, demoFederation } from '../../../test/mini/demo-federation.ts';
import { startFederation } from './federation.ts';

const run = promisify(execFile);

test('the origin and each cache serve a complete object, over https and http', async (t) => {
  const { federation, objects } = await demoFederation(t);
  for (const server of [federation.origin, ...federation.caches])
    for (const base of [server.url, server.httpUrl]) {
      const answer = await ask(federation, `${base}/demo/big.bin`);
      assert.equal(answer.status, 200);
      assert.ok(answer.body.equals(objects.big), base);
    }
});

test('its certificates are valid for localhost and the loopback addresses', async (t) => {
  const { federation } = await demoFederation(t);
  const { port } = new URL(federation.discoveryUrl);
  const ca = await readFile(federation.caFile);
  for (const servername of ['localhost', '127.0.0.1']) {
    const checkServerIdentity = (_: string, certificate: tls.PeerCertificate) =>
      tls.checkServerIdentity(servername, certificate);
    const socket = tls.connect({ host: '127.0.0.1', port: Number(port), ca, checkServerIdentity });
    await once(socket, 'secureConnect');
    assert.equal(socket.authorized, true, servername);
    socket.destroy();
  }
});

test('after stop no address answers, and no file is left', async (t) => {
  const { federation } = await demoFederation(t);
  const servers = [federation.director, federation.origin, ...federation.caches];
  await ask(federation, `${federation.caches[0]!.url}/demo/big.bin`);
  const trusted = path.dirname(federation.caFile);
  const urls = servers.flatMap(({ url, httpUrl }) => [url.replace('https:', 'http:'), httpUrl]);
  await federation.stop();
  await federation.stop();
  for (const url of urls) await assert.rejects(ask(federation, url), { code: 'ECONNREFUSED' }, url);
  await assert.rejects(stat(trusted), { code: 'ENOENT' });
});

test("in the user's folder, only files made by the federation are removed", async (t) => {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'mini-federation-own-'));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(path.join(folder, 'mine'), 'mine');
  const { federation } = await demoFederation(t, { folder });
  await ask(federation, `${federation.caches[0]!.url}/demo/big.bin`);
  await federation.stop();
  assert.deepEqual((await readdir(folder)).sort(), ['ca.pem', 'mine']);
});

test('an invalid namespace is refused before anything starts', async () => {
  const publish = (prefix: string, folder: string) =>
    startFederation({ namespaces: [{ prefix, folder, public: true }] });
  await assert.rejects(publish('/demo', '/does/not/exist'), /cannot be published: it is not a folder/);
  for (const prefix of ['demo', '/', '/api', '/.well-known/x', '/../etc'])
    await assert.rejects(publish(prefix, os.tmpdir()), /cannot be a namespace/, prefix);
});

test('counters count requests, bytes and outcomes, per server and object', async (t) => {
  const { federation, objects } = await demoFederation(t);
  const url = `${federation.caches[1]!.url}/demo/sub/small.txt`;
  await ask(federation, url);
  await ask(federation, url, { headers: { Range: 'bytes=0-3' } });
  await ask(federation, url, { headers: { Range: 'bytes=900-' } });
  const { requests, bytes, outcomes, objects: each } = federation.counters.server('cache-2');
  assert.deepEqual([requests, bytes], [3, objects.small.length + 4]);
  assert.deepEqual(outcomes, { '200': 1, '206': 1, '416': 1 });
  assert.deepEqual(each, { '/demo/sub/small.txt': { requests: 3, bytes: 13 } });
  assert.equal(federation.counters.server('cache-1').requests, 0);
  federation.counters.reset();
  assert.equal(federation.counters.server('cache-2').requests, 0);
});

function hasCurl(t: TestContext): boolean {
  try {
    execFileSync('curl', ['--version']);
    return true;
  } catch {
    t.skip('curl is not installed');
    return false;
  }
}

test('curl finds an object through the director, with and without a token, and uploads one', async (t) => {
  if (!hasCurl(t)) return;
  const { federation, folder, objects } = await demoFederation(t);
  const curl = (...words: string[]) =>
    run('curl', ['-sS', '-L', '--noproxy', '*', '--cacert', federation.caFile, ...words], {
      encoding: 'buffer',
    });
  const target = path.join(folder, 'fetched');
  await curl('-o', target, `${federation.discoveryUrl}/demo/big.bin`);
  assert.equal((await stat(target)).size, objects.big.length);
  const bearer = path.join(folder, 'bearer');
  await writeFile(bearer, `Authorization: Bearer ${federation.issueToken({ namespace: '/private' })}`);
  const secret = await curl('-H', `@${bearer}`, `${federation.discoveryUrl}/private/secret.txt`);
  assert.ok(secret.stdout.equals(objects.secret));
  await assert.rejects(curl('-f', `${federation.discoveryUrl}/private/secret.txt`), /403/);
  await writeFile(bearer, `Authorization: Bearer ${federation.issueToken({ namespace: '/inbox' })}`);
  await curl('-f', '-H', `@${bearer}`, '-T', target, `${federation.discoveryUrl}/inbox/copy.bin`);
  assert.equal((await stat(path.join(folder, 'inbox/copy.bin'))).size, objects.big.length);
});

test('curl resumes where it was cut off', async (t) => {
  if (!hasCurl(t)) return;
  const { federation, folder, objects } = await demoFederation(t);
  await federation.trouble.add('cache-1: truncate after 2MB with length first 1');
  const target = path.join(folder, 'fetched');
  const url = `${federation.caches[0]!.url}/demo/big.bin`;
  const words = ['-sS', '--noproxy', '*', '--cacert', federation.caFile, '-C', '-', '-o', target, url];
  await assert.rejects(run('curl', words));
  assert.equal((await stat(target)).size, 2_000_000);
  await run('curl', words);
  assert.ok((await readFile(target)).equals(objects.big));
});
