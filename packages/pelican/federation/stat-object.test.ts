import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import type { ServerResponse } from 'node:http';
import { pathToFileURL } from 'node:url';
import { testFederation } from '../../../test/federation/origin-server.ts';
import { Fault, type FaultKind } from '../fault.ts';
import { statObject } from './stat-object.ts';

const isFault = (kind: FaultKind) => (error: unknown) => error instanceof Fault && error.kind === kind;

test('size, tag, time, age and digests come from the first server that has the object', async (t) => {
  const headers = {
    'Content-Length': '5',
    ETag: '"v1"',
    'Last-Modified': 'Mon, 06 May 2024 07:08:09 GMT',
    Age: '60',
  };
  const { federation, asked } = await testFederation(t, [
    (_, response) => response.writeHead(404).end(),
    (request, response) =>
      response
        .writeHead(200, {
          ...headers,
          ...(request.headers['want-digest'] === undefined ? {} : { Digest: 'crc32c=9a71bb4c' }),
        })
        .end(),
  ]);
  const info = await statObject('osdf:///ns/x', { federation, digest: true });
  const { server, ...rest } = info;
  assert.match(server, /^127\.0\.0\.1:\d+$/);
  assert.deepEqual(rest, {
    url: 'osdf:///ns/x',
    isCollection: false,
    size: 5,
    etag: '"v1"',
    modified: Date.UTC(2024, 4, 6, 7, 8, 9),
    age: 60,
    digests: { crc32c: '9a71bb4c' },
  });
  const [head] = asked[1] ?? [];
  assert.deepEqual(
    [head?.method, head?.headers['te'], head?.headers['x-transfer-status']],
    ['HEAD', undefined, undefined],
  );
  assert.deepEqual(
    (await statObject('osdf:///ns/x', { federation })).digests,
    {},
    'digests cost a server work, so they must be asked for',
  );
});

test('an object is missing only if its origin says so, never because of caches alone', async (t) => {
  const none = [
    (_: unknown, r: ServerResponse) => r.writeHead(404).end(),
    (_: unknown, r: ServerResponse) => r.writeHead(404).end(),
  ];
  const gone = await testFederation(t, none, { origin: true });
  await assert.rejects(statObject('osdf:///ns/x', gone), isFault('object-missing'));
  const caches = await testFederation(t, none);
  await assert.rejects(statObject('osdf:///ns/x', caches), isFault('servers-unreachable'));
  const stale = await testFederation(
    t,
    [(_, r) => r.writeHead(200, { 'Content-Length': '5' }).end(), (_, r) => r.writeHead(404).end()],
    { origin: true },
  );
  assert.equal((await statObject('osdf:///ns/x', stale)).size, 5, 'there may be another origin');
  const unsure = await testFederation(t, [(_, r) => r.writeHead(404).end(), (_, r) => r.destroy()]);
  await assert.rejects(statObject('osdf:///ns/x', unsure), isFault('servers-unreachable'));
  const refused = await testFederation(t, [
    (_, r) => r.writeHead(404).end(),
    (_, r) => r.writeHead(403).end(),
  ]);
  await assert.rejects(statObject('osdf:///ns/x', refused), isFault('token-refused'));
});

test("a collection, and an object that no cache has yet, are known from the origin's listing", async (t) => {
  const { federation } = await testFederation(
    t,
    [
      (_, response) => response.writeHead(409).end(),
      ({ method, url }, response) => {
        if (method !== 'PROPFIND') return response.writeHead(500).end();
        const kind =
          url === '/ns/dir'
            ? '<resourcetype><collection/></resourcetype>'
            : '<getcontentlength>7</getcontentlength>';
        return response
          .writeHead(207)
          .end(`<multistatus><response><href>${url}</href>${kind}</response></multistatus>`);
      },
    ],
    { listing: true },
  );
  assert.equal((await statObject('osdf:///ns/dir', { federation })).isCollection, true);
  assert.equal((await statObject('osdf:///ns/new', { federation })).size, 7);
});

test('a folder that answers like an object, as with XRootD, is still a collection', async (t) => {
  const { federation } = await testFederation(
    t,
    [
      ({ method, url }, response) =>
        method === 'HEAD'
          ? response.writeHead(200, { 'Content-Length': '4096' }).end()
          : response
              .writeHead(207)
              .end(
                `<multistatus><response><href>${url}</href><iscollection>1</iscollection></response></multistatus>`,
              ),
    ],
    { listing: true },
  );
  const { isCollection, size } = await statObject('osdf:///ns/dir', { federation });
  assert.deepEqual([isCollection, size], [true, undefined]);
});

test('files on this machine are described too', async (t) => {
  const { federation, folder } = await testFederation(t, []);
  await writeFile(path.join(folder, 'a b'), 'hello');
  const info = await statObject(pathToFileURL(path.join(folder, 'a b')).href, { federation });
  assert.deepEqual([info.size, info.isCollection], [5, false]);
  assert.equal((await statObject(`file://${folder}`, { federation })).isCollection, true);
  await assert.rejects(statObject(`file://${folder}/none`, { federation }), isFault('object-missing'));
});
