import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import type { FaultKind } from '../../src/fault/kinds.ts';
import { createLocator } from '../../src/federation/locator.ts';
import { startFederation } from '../../src/mini/federation/federation.ts';
import { fetchToFile } from '../../src/transfer/fetch-to-file.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { cuttingProxy } from './cutting-proxy.ts';
import { needProgram } from './debian-packages.ts';
import { startCache, startOrigin } from './xrootd.ts';

const bytes = randomBytes(3 << 20);

interface Site {
  own: string;
  origin: string;
  cache: string;
  /** An XRootD that holds nothing. */
  empty: string;
}

test('several servers, XRootD among them', async (t) => {
  const file = needProgram(t, 'xrootd', ['xrootd-server', 'xrootd-plugins']);
  if (file === undefined) return;
  const site = await startSite(t, file);
  for (const [promise, keep] of Object.entries(promises)) await t.test(promise, (each) => keep(each, site));
});

const promises: Record<string, (t: TestContext, site: Site) => Promise<void>> = {
  async 'an object that one cache denies is had from the next'(t, site) {
    const { fetched, setbacks } = fetchFrom(t, site, [site.empty, site.cache]);
    assert.equal((await fetched).verified, 'digest');
    assert.deepEqual(setbacks, ['object-missing']);
  },

  async 'an object that a cache and the origin deny is missing'(t, site) {
    const { fetched } = fetchFrom(t, site, [site.empty], 'none.bin');
    await assert.rejects(fetched, { kind: 'object-missing', message: /none\.bin.*404/ });
  },

  async 'a server that redirects to itself for ever is left for the next'(t, site) {
    const loop = await redirecting(t, (own) => own);
    const { fetched, setbacks } = fetchFrom(t, site, [loop.url, site.cache]);
    await fetched;
    assert.deepEqual(setbacks, ['transfer-failed']);
    assert.ok(loop.heard.length < 10, `asked ${loop.heard.length} times`);
  },

  async 'the token goes to the servers that the director names, and not along with a redirect'(t, site) {
    const proxy = await cuttingProxy(t, site.cache);
    const straight = fetchFrom(t, site, [proxy.url], 'closed.bin', 'secret-token');
    assert.equal((await straight.fetched).bytes, bytes.length);
    assert.match(proxy.heard(), /^Authorization: Bearer secret-token\r$/m);

    const beyond = await cuttingProxy(t, site.cache);
    const named = await redirecting(t, () => beyond.url);
    const around = fetchFrom(t, site, [named.url], 'closed.bin', 'secret-token');
    assert.equal((await around.fetched).bytes, bytes.length);
    assert.ok(named.heard.every((authorization) => authorization === 'Bearer secret-token'));
    assert.doesNotMatch(beyond.heard(), /secret-token/);
  },
};

async function startSite(t: TestContext, file: string): Promise<Site> {
  const own = await temporaryFolder(t);
  const published = path.join(own, 'published');
  await mkdir(path.join(published, 'demo'), { recursive: true });
  for (const name of ['open.bin', 'closed.bin']) await writeFile(path.join(published, 'demo', name), bytes);
  const at = (name: string, root: string) => ({ folder: path.join(own, name), root: path.join(own, root) });
  const origin = await startOrigin(file, at('origin', 'published'));
  t.after(() => origin.stop());
  const cache = await startCache(file, at('cache', 'cached'), origin.address);
  t.after(() => cache.stop());
  const empty = await startOrigin(file, at('empty', 'nothing'));
  t.after(() => empty.stop());
  return { own, origin: origin.httpUrl, cache: cache.httpUrl, empty: empty.httpUrl };
}

/** Fetches an object of which the director says that these have it; with a token, of a namespace that wants one. */
function fetchFrom(t: TestContext, site: Site, caches: string[], name = 'open.bin', token?: string) {
  const setbacks: FaultKind[] = [];
  const fetched = (async () => {
    const folder = await temporaryFolder(t);
    await using federation = await startFederation({
      namespaces: [{ prefix: '/demo', folder: site.own, public: token === undefined }],
      servers: { origin: site.origin, caches },
      caches: 0,
    });
    const { discoveryUrl, director, caFile } = federation;
    // XRootD speaks plain http here, over which only one's own machine may be given a token.
    const protection = token === undefined ? {} : { UPDRAFT_FEDERATION_HTTP: '1' };
    const { host } = new URL(token === undefined ? discoveryUrl : director.httpUrl);
    const env = { UPDRAFT_OSDF_HOST: host, SSL_CERT_FILE: caFile, ...protection };
    const own = { cwd: folder, uid: 4_000_000_005, clock: systemClock, version: '0' };
    const target = path.join(folder, name);
    if (token !== undefined) await writeFile(path.join(folder, 'token'), token);
    const done = await fetchToFile(`osdf:///demo/${name}`, target, {
      locator: createLocator({ env, ...own }),
      ...(token === undefined ? {} : { tokenFile: 'token' }),
      onEvent: (event) => event.kind === 'setback' && setbacks.push(event.fault.kind),
    });
    assert.deepEqual(await readFile(target), bytes);
    return done;
  })();
  return { fetched, setbacks };
}

/** A server that sends everybody on, and what it was told to be authorized by. */
async function redirecting(
  t: TestContext,
  to: (own: string) => string,
): Promise<{ url: string; heard: (string | undefined)[] }> {
  const heard: (string | undefined)[] = [];
  const server = http.createServer((request, response) => {
    heard.push(request.headers.authorization);
    response.writeHead(307, { Location: to(url) + (request.url ?? ''), 'Content-Length': 0 }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return { url, heard };
}
