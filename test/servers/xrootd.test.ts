import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { systemClock } from '@updraft/base';
import type { FaultKind } from '@updraft/account/fault';
import { createLocator, deleteObject, statObject, walkCollection } from '@updraft/pelican/federation';
import { parseMultistatus } from '@updraft/pelican/testing';
import { startFederation } from '@updraft/mini/federation';
import { fetchToFile, putObject } from '@updraft/pelican/transfer';
import { temporaryFolder } from '../temporary-folder.ts';
import { cuttingProxy } from './cutting-proxy.ts';
import { startOrigin, startSite, type XrootdServer, type XrootdSite, xrootdVersions } from './xrootd.ts';

const bytes = randomBytes(3 << 20);

interface Site extends XrootdSite {
  /** An XRootD without objects. */
  empty: XrootdServer;
}

for (const [name, version] of Object.entries(xrootdVersions))
  test(`several servers, one of them ${name}`, async (t) => {
    const xrootd = await version(t);
    if (xrootd === undefined) return;
    const site = await startSite(t, xrootd);
    for (const object of ['open.bin', 'closed.bin']) await writeFile(path.join(site.folder, object), bytes);
    const { own, authority } = site;
    const nothing = { folder: path.join(own, 'empty'), root: path.join(own, 'nothing') };
    const empty = await startOrigin({ xrootd, authority, ...nothing });
    t.after(() => empty.stop());
    for (const [promise, keep] of Object.entries(promises))
      await t.test(promise, (each) => keep(each, { ...site, empty }));
  });

const promises: Record<string, (t: TestContext, site: Site) => Promise<void>> = {
  async 'an object that one cache denies is had from the next'(t, site) {
    const { fetched, setbacks } = fetchFrom(t, site, [site.empty.url, site.cache.url]);
    assert.equal((await fetched).verified, 'digest');
    assert.deepEqual(setbacks, ['object-missing']);
  },

  async 'an object that a cache and the origin deny is missing'(t, site) {
    const { fetched } = fetchFrom(t, site, [site.empty.url], 'none.bin');
    await assert.rejects(fetched, { kind: 'object-missing', message: /none\.bin.*404/ });
  },

  async 'a listing of it that is cut anywhere is refused'(_, site) {
    const answer = await fetch(`${site.origin.httpUrl}/demo`, {
      method: 'PROPFIND',
      headers: { Depth: '1' },
    });
    const xml = (await answer.text()).trimEnd();
    assert.equal(parseMultistatus(xml)?.length, 3);
    for (let length = 0; length < xml.length; length++)
      assert.equal(parseMultistatus(xml.slice(0, length)), undefined, xml.slice(0, length));
  },

  async 'a server that redirects to itself for ever is left for the next'(t, site) {
    const loop = await redirecting(t, (own) => own);
    const { fetched, setbacks } = fetchFrom(t, site, [loop.url, site.cache.url]);
    await fetched;
    assert.deepEqual(setbacks, ['transfer-failed']);
    assert.ok(loop.heard.length < 10, `asked ${loop.heard.length} times`);
  },

  async 'the token goes to the servers that the director names, and not along with a redirect'(t, site) {
    const proxy = await cuttingProxy(t, site.cache.httpUrl);
    const straight = fetchFrom(t, site, [proxy.url], 'closed.bin', 'secret-token');
    assert.equal((await straight.fetched).bytes, bytes.length);
    assert.match(proxy.received(), /^Authorization: Bearer secret-token\r$/m);

    const beyond = await cuttingProxy(t, site.cache.httpUrl);
    const named = await redirecting(t, () => beyond.url);
    const around = fetchFrom(t, site, [named.url], 'closed.bin', 'secret-token');
    assert.equal((await around.fetched).bytes, bytes.length);
    assert.ok(named.heard.every((authorization) => authorization === 'Bearer secret-token'));
    assert.doesNotMatch(beyond.received(), /secret-token/);
  },

  async 'what is uploaded is proven by digest, replaced, listed, and deleted at the origin'(t, site) {
    await chmod(site.folder, 0o777);
    await using servers = await startFederation({
      namespaces: [{ prefix: '/demo', folder: site.folder, public: true, writable: true }],
      servers: { origin: site.origin.url, caches: [site.cache.url] },
      caches: 0,
    });
    const { discoveryHost, caFile } = servers;
    const env = { UPDRAFT_OSDF_HOST: discoveryHost, SSL_CERT_FILE: await site.trust(caFile) };
    const cwd = await temporaryFolder(t, { one: 'one', two: 'another' });
    const federation = createLocator({ env, cwd, uid: 4_000_000_005, clock: systemClock, version: '0' });
    const url = 'osdf:///demo/new/deep/o%20ne.txt';
    const put = (name: string, overwrite: boolean) =>
      putObject(path.join(cwd, name), url, { federation, overwrite });
    assert.equal((await put('one', false)).verified, 'digest');
    await assert.rejects(put('two', false), { kind: 'usage' });
    assert.equal((await put('two', true)).verified, 'digest');
    const listed = await walkCollection('osdf:///demo/new', { federation });
    assert.deepEqual(
      listed.map(({ name, size }) => [name, size]),
      [['deep/o ne.txt', 7]],
    );
    for (const gone of [url, 'osdf:///demo/new/deep']) await deleteObject(gone, { federation });
    await assert.rejects(statObject(url, { federation }), { kind: 'object-missing' });
  },
};

/** Fetches an object from the servers that the director names; with a token, from a protected namespace. */
function fetchFrom(t: TestContext, site: Site, caches: string[], name = 'open.bin', token?: string) {
  const setbacks: FaultKind[] = [];
  const fetched = (async () => {
    const folder = await temporaryFolder(t);
    await using federation = await startFederation({
      namespaces: [{ prefix: '/demo', folder: site.folder, public: token === undefined }],
      servers: { origin: token === undefined ? site.origin.url : site.origin.httpUrl, caches },
      caches: 0,
    });
    const { discoveryUrl, director, caFile } = federation;
    // The test reads the traffic, hence plain http, which may carry a token only on the loopback interface.
    const protection = token === undefined ? {} : { UPDRAFT_FEDERATION_HTTP: '1' };
    const { host } = new URL(token === undefined ? discoveryUrl : director.httpUrl);
    const env = { UPDRAFT_OSDF_HOST: host, SSL_CERT_FILE: await site.trust(caFile), ...protection };
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

/** A server that redirects every request, and the Authorization headers it got. */
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
