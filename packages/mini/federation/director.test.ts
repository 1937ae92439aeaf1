import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ask, demoFederation } from '../../../test/mini/demo-federation.ts';

const jobId = '0b2a1c9e-6a39-4b9f-8f5d-8d5ed0a1f3aa';

function message(body: Buffer): string {
  const answer = JSON.parse(body.toString()) as { status: string; msg: string };
  assert.equal(answer.status, 'error');
  return answer.msg;
}

test('the discovery document names the director and the keys', async (t) => {
  const { federation } = await demoFederation(t);
  const url = `${federation.discoveryUrl}/.well-known/pelican-configuration`;
  const { status, headers, body } = await ask(federation, url);
  assert.equal(status, 200);
  assert.equal(headers['content-type'], 'application/json');
  assert.equal(headers['content-disposition'], 'attachment; filename=pelican-configuration.json');
  assert.match(String(headers.server), /^pelican\/7\.\d+\.\d+$/);
  const document = JSON.parse(body.toString()) as Record<string, string>;
  assert.equal(document['director_endpoint'], `https://${federation.discoveryHost}`);
  assert.equal(document['discovery_endpoint'], federation.discoveryUrl);
  for (const key of ['namespace_registration_endpoint', 'jwks_uri', 'broker_endpoint'])
    assert.ok(document[key], key);
});

test('an object is answered with 307, the caches in order and the namespace', async (t) => {
  const { federation } = await demoFederation(t, { caches: 3 });
  const object = '/demo/sub/small.txt';
  const headers = { 'X-Pelican-JobId': jobId };
  const answer = await ask(federation, federation.discoveryUrl + object, { headers });
  assert.equal(answer.status, 307);
  const [first, ...others] = federation.caches.map(({ url }) => url + object);
  assert.equal(answer.headers.location, first);
  const links = [first, ...others].map(
    (url, index) => `<${url}>; rel="duplicate"; pri=${index + 1}; depth=2`,
  );
  assert.equal(answer.headers['link'], links.join(', '));
  const namespace = `namespace=/demo, require-token=false, collections-url=${federation.origin.url}`;
  assert.equal(answer.headers['x-pelican-namespace'], namespace);
  assert.equal(answer.headers['x-pelican-authorization'], undefined);
  assert.equal(answer.headers['x-pelican-jobid'], jobId);
});

test('at most six servers are named', async (t) => {
  const { federation } = await demoFederation(t, { caches: 7 });
  const { headers } = await ask(federation, `${federation.discoveryUrl}/demo/big.bin`);
  assert.equal(String(headers['link']).split('rel="duplicate"').length - 1, 6);
});

test('a protected namespace names its issuer, and a token appears only in Location', async (t) => {
  const { federation } = await demoFederation(t);
  const url = `${federation.discoveryUrl}/private/secret.txt`;
  const { headers } = await ask(federation, url);
  assert.equal(headers['x-pelican-namespace'], 'namespace=/private, require-token=true');
  const issuer = `${federation.origin.url}/api/v1.0/issuer/ns/private`;
  assert.equal(headers['x-pelican-authorization'], `issuer=${issuer}`);
  const generation = `issuer=${issuer}, max-scope-depth=3, strategy=OAuth2, base-path=/private`;
  assert.equal(headers['x-pelican-token-generation'], generation);
  const token = federation.issueToken({ namespace: '/private' });
  const known = await ask(federation, url, { token });
  assert.equal(known.status, 307);
  assert.equal(new URL(known.headers.location ?? '').searchParams.get('authz'), token);
  assert.ok(!String(known.headers['link']).includes(token));
});

test('directread and writing verbs lead to the origin', async (t) => {
  const { federation } = await demoFederation(t);
  const { discoveryUrl, origin } = federation;
  const questions: [string, string][] = [
    ['GET', '/demo/big.bin?directread'],
    ['PROPFIND', '/demo/big.bin'],
    ['PUT', '/inbox/big.bin'],
  ];
  for (const [method, where] of questions) {
    const { status, headers } = await ask(federation, discoveryUrl + where, { method });
    assert.equal(status, 307, where);
    assert.ok(headers.location?.startsWith(`${origin.url}/`), where);
  }
});

test("what cannot be served is refused with Pelican's error JSON and Server header", async (t) => {
  const { federation } = await demoFederation(t);
  const expected: [string, string, number, RegExp][] = [
    ['GET', '/nowhere/x', 404, /^No sources found for the requested path: .*Request ID: [\da-f-]{36}$/],
    ['GET', '/demolition/x', 404, /^No sources found/],
    ['PUT', '/demo/new.bin', 405, /^Discovered sources for the namespace, but none support the request:/],
    ['PROPFIND', '/private', 405, /^Discovered sources/],
    ['GET', '/demo/x?directread&prefercached', 400, /^Failed to validate incoming request:/],
  ];
  for (const [method, where, status, text] of expected) {
    const headers = method === 'PROPFIND' ? { Depth: '1' } : {};
    const answer = await ask(federation, federation.discoveryUrl + where, { method, headers });
    assert.equal(answer.status, status, where);
    assert.equal(answer.headers['content-type'], 'application/json');
    assert.match(String(answer.headers.server), /^pelican\//);
    assert.match(message(answer.body), text);
  }
});

test('a token that has expired, or is about to, gets 401 and the reason', async (t) => {
  const { federation } = await demoFederation(t);
  for (const expiresInSeconds of [-5, 0, 8]) {
    const token = federation.issueToken({ namespace: '/private', expiresInSeconds });
    const answer = await ask(federation, `${federation.discoveryUrl}/private/secret.txt`, { token });
    // A token with a life of 8 seconds counts as expired 4 seconds before its end.
    assert.equal(answer.status, expiresInSeconds === 8 ? 307 : 401);
    if (answer.status === 307) continue;
    assert.equal(answer.headers['www-authenticate'], 'Bearer error="invalid_token"');
    assert.match(message(answer.body), /^bearer token has expired/);
  }
});

test('with http, only public objects get http addresses', async (t) => {
  const { federation } = await demoFederation(t, { http: true });
  const open = await ask(federation, `${federation.discoveryUrl}/demo/big.bin`);
  assert.equal(open.headers.location, `${federation.caches[0]!.httpUrl}/demo/big.bin`);
  const closed = await ask(federation, `${federation.discoveryUrl}/private/secret.txt`);
  assert.match(closed.headers.location ?? '', /^https:/);
});

test('names with commas, semicolons, spaces, percent and question marks can be found and fetched', async (t) => {
  const { federation, folder } = await demoFederation(t);
  for (const name of ['a,b;c.txt', 'two words.txt', '100%.txt', 'who?.txt', 'ä#ö.txt', 'x&y=z+1.txt']) {
    await writeFile(path.join(folder, 'demo', name), name);
    const asked = `${federation.discoveryUrl}/demo/${encodeURIComponent(name)}`;
    const { headers } = await ask(federation, asked);
    const location = headers.location ?? '';
    if (name.includes(',')) assert.ok(location.endsWith('/demo/a,b;c.txt'), location);
    const answer = await ask(federation, location);
    assert.equal(answer.status, 200, location);
    assert.equal(answer.body.toString(), name);
  }
});
