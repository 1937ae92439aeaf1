import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testFederation } from '../../../test/federation/origin-server.ts';
import { webServer } from '../../../test/federation/web-server.ts';
import { readOriginFacts, type OriginFacts } from './stat-object.ts';
import type { LocateOptions } from './located.ts';

type Federation = Awaited<ReturnType<typeof testFederation>>['federation'];

const url = 'osdf:///ns/x';
const described = (inside: string): string =>
  `<D:multistatus xmlns:D="DAV:"><D:response><D:href>/ns/x</D:href><D:propstat><D:prop>
  <D:getlastmodified>Mon, 06 May 2024 07:08:09 GMT</D:getlastmodified>${inside}
  </D:prop></D:propstat></D:response></D:multistatus>`;
const anObject = described('<D:getcontentlength>5</D:getcontentlength><D:getetag>"v1"</D:getetag>');
const aFolder = described('<D:resourcetype><D:collection/></D:resourcetype>');
const modified = Date.UTC(2024, 4, 6, 7, 8, 9);

async function know(federation: Federation, by: OriginFacts['kind'] = 'origin') {
  const locate = (how: LocateOptions) => federation.locate(url, how);
  const known = await readOriginFacts(await locate({}), { wire: federation.wire, locate });
  if (known === undefined) return undefined;
  const { server, kind, ...facts } = known;
  assert.equal(kind, by);
  assert.match(server, /^127\.0\.0\.1:\d+$/);
  return facts;
}

test('the origin gives size, time and kind in one small request, and no cache is asked', async (t) => {
  for (const [body, facts] of [
    [anObject, { size: 5, modified, isCollection: false, etag: '"v1"' }],
    [aFolder, { modified, isCollection: true }],
  ] as const) {
    const { federation, asked } = await testFederation(
      t,
      [(_, r) => r.destroy(), (_, r) => r.writeHead(207).end(body)],
      { listing: true },
    );
    assert.deepEqual(await know(federation), facts);
    const [cache = [], origin = []] = asked;
    assert.equal(cache.length, 0);
    assert.deepEqual(
      origin.map(({ method, headers }) => [method, headers['depth']]),
      [['PROPFIND', '0']],
    );
  }
});

test('if listings are not allowed the director names the origin; if that does not answer, a cache asks it', async (t) => {
  const found = await testFederation(t, [(_, r) => r.destroy(), (_, r) => r.writeHead(207).end(anObject)], {
    origin: true,
  });
  assert.equal((await know(found.federation))?.size, 5);
  const silent = await testFederation(
    t,
    [(_, r) => r.writeHead(207).end(anObject), (_, r) => r.writeHead(503).end()],
    { listing: true },
  );
  assert.equal((await know(silent.federation, 'cache'))?.size, 5);
  const folder = await testFederation(t, [(_, r) => r.writeHead(409).end(), (_, r) => r.destroy()], {
    listing: true,
  });
  assert.deepEqual(await know(folder.federation, 'cache'), { isCollection: true });
});

test('only the origin can say that an object is missing; no answer means nothing is known', async (t) => {
  const gone = await testFederation(t, [(_, r) => r.destroy(), (_, r) => r.writeHead(404).end()], {
    listing: true,
  });
  await assert.rejects(know(gone.federation), { kind: 'object-missing', message: /its origin, says so/ });
  const unsure = await testFederation(t, [(_, r) => r.writeHead(404).end(), (_, r) => r.destroy()], {
    listing: true,
  });
  assert.equal(await know(unsure.federation), undefined);
  const other = await testFederation(t, [(_, r) => r.writeHead(200).end('hello')], { listing: true });
  assert.equal(await know(other.federation), undefined);
});

test('a web server that answers 404 to PROPFIND and to HEAD has no such object; a 404 to PROPFIND alone says nothing', async (t) => {
  const { federation } = await testFederation(t, []);
  const ask = async (head: number) => {
    const server = await webServer(t, ({ method }, r) => r.writeHead(method === 'HEAD' ? head : 404).end());
    const locate = (how: LocateOptions) => federation.locate(`${server.url}/new-folder`, how);
    return await readOriginFacts(await locate({}), { wire: federation.wire, locate });
  };
  await assert.rejects(ask(404), { kind: 'object-missing', message: /new-folder is not there: 127/ });
  assert.equal(await ask(200), undefined);
});
