import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testFederation } from '../../test/federation/origin-server.ts';
import { Fault } from '../fault/fault.ts';
import type { FaultKind } from '../fault/kinds.ts';
import { listCollection, walkCollection } from './list-collection.ts';

const isFault = (kind: FaultKind) => (error: unknown) => error instanceof Fault && error.kind === kind;

const response = (href: string, size?: number): string =>
  `<D:response><D:href>${href}</D:href><D:propstat><D:prop>${size === undefined ? '<D:resourcetype><D:collection/></D:resourcetype>' : `<D:getcontentlength>${size}</D:getcontentlength>`}</D:prop></D:propstat></D:response>`;
const multistatus = (...responses: string[]): string =>
  `<D:multistatus xmlns:D="DAV:">${responses.join('')}</D:multistatus>`;

const tree: Record<string, string> = {
  '/ns/d': multistatus(
    response('/ns/d/'),
    response('/ns/d/sub/'),
    response('/ns/d/b%2Cc.tar', 2),
    response('/ns/d/a b', 1),
  ),
  '/ns/d/sub': multistatus(response('/prefix/d/sub'), response('/prefix/d/sub/z%25', 3)),
  '/ns/d/empty': multistatus(response('/ns/d/empty/')),
  '/ns/d/file': multistatus(response('/ns/d/file', 9)),
  '/ns/evil': multistatus(response('/ns/evil'), response('/ns/evil/..', 1)),
  '/ns/html': '<html>login</html>',
};

async function lister(t: Parameters<typeof testFederation>[0]) {
  return await testFederation(
    t,
    [
      ({ url, headers }, answer, count) => {
        assert.equal(headers['depth'], '1');
        if (count === 1) return answer.writeHead(503, { 'Retry-After': '2' }).end();
        const body = tree[url];
        return body === undefined ? answer.writeHead(404).end() : answer.writeHead(207).end(body);
      },
    ],
    { listing: true },
  );
}

test('a collection is listed by name, and its URLs lead on', async (t) => {
  const { federation, clock } = await lister(t);
  assert.deepEqual(await listCollection('osdf:///ns/d/?recursive', { federation }), [
    { url: 'osdf:///ns/d/a%20b', name: 'a b', isCollection: false, size: 1 },
    { url: 'osdf:///ns/d/b%2Cc.tar', name: 'b,c.tar', isCollection: false, size: 2 },
    { url: 'osdf:///ns/d/sub', name: 'sub', isCollection: true },
  ]);
  assert.deepEqual(clock.slept, [2000], 'a busy server is waited for as it asks');
});

test('a walk gives every object below, also where the server names its own paths', async (t) => {
  const { federation } = await lister(t);
  const found = await Array.fromAsync(walkCollection('osdf:///ns/d', { federation }));
  assert.deepEqual(
    found.map(({ name, url, size }) => [name, url, size]),
    [
      ['a b', 'osdf:///ns/d/a%20b', 1],
      ['b,c.tar', 'osdf:///ns/d/b%2Cc.tar', 2],
      ['sub/z%', 'osdf:///ns/d/sub/z%25', 3],
    ],
  );
});

test('a walk through folders that lead back into themselves ends', async (t) => {
  const listing = (url: string) => multistatus(response(`${url}/`), response(`${url}/again/`));
  const { federation } = await testFederation(
    t,
    [({ url }, answer) => answer.writeHead(207).end(listing(url))],
    { listing: true },
  );
  const walk = Array.fromAsync(walkCollection('osdf:///ns/d', { federation }));
  await assert.rejects(walk, /more than 100 folders inside each other/);
});

test('an empty collection has nothing and an object lists as itself', async (t) => {
  const { federation } = await lister(t);
  assert.deepEqual(await listCollection('osdf:///ns/d/empty', { federation }), []);
  assert.deepEqual(await listCollection('osdf:///ns/d/file', { federation }), [
    { url: 'osdf:///ns/d/file', name: 'file', isCollection: false, size: 9 },
  ]);
});

test('missing, hostile, garbled and forbidden listings are refused by kind', async (t) => {
  const { federation } = await lister(t);
  await assert.rejects(listCollection('osdf:///ns/none', { federation }), isFault('object-missing'));
  await assert.rejects(listCollection('osdf:///ns/evil', { federation }), isFault('data-wrong'));
  await assert.rejects(listCollection('osdf:///ns/html', { federation }), isFault('data-wrong'));
  const closed = await testFederation(t, [(_, answer) => answer.writeHead(404).end()]);
  await assert.rejects(
    listCollection('osdf:///ns/d', closed),
    (error) => isFault('servers-unreachable')(error) && /cannot be listed/.test((error as Fault).message),
  );
});
