import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { testFederation } from '../../../test/federation/origin-server.ts';
import { multistatus as miniMultistatus } from '@updraft/mini/testing';
import { Fault, type FaultKind } from '../fault.ts';
import { listCollection, parseMultistatus, walkCollection } from './list-collection.ts';

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
  '/ns/headless': multistatus(response('/ns/headless/a', 1), response('/ns/headless/b', 1)),
  '/ns/apart': multistatus(response('/ns/apart'), response('/ns/apart-too/b', 1)),
  '/ns/html': '<html>login</html>',
};

async function lister(t: Parameters<typeof testFederation>[0]) {
  return await testFederation(
    t,
    [
      ({ url }, answer, count) => {
        if (count === 1) return answer.writeHead(503, { 'Retry-After': '3' }).end();
        const body = tree[url];
        return body === undefined ? answer.writeHead(404).end() : answer.writeHead(207).end(body);
      },
    ],
    { listing: true },
  );
}

test('a collection is listed by name, with URLs that can be followed', async (t) => {
  const { federation, clock } = await lister(t);
  assert.deepEqual(await listCollection('osdf:///ns/d/?recursive', { federation }), [
    { url: 'osdf:///ns/d/a%20b', name: 'a b', isCollection: false, size: 1 },
    { url: 'osdf:///ns/d/b%2Cc.tar', name: 'b,c.tar', isCollection: false, size: 2 },
    { url: 'osdf:///ns/d/sub', name: 'sub', isCollection: true },
  ]);
  assert.deepEqual(clock.slept, [3000], 'a busy server is waited for as it asks');
});

test('a walk finds every object, folder by folder, also where the server names its own paths', async (t) => {
  const { federation, asked } = await lister(t);
  const found = await walkCollection('osdf:///ns/d/', { federation });
  assert.deepEqual(
    found.map(({ name, url, size }) => [name, url, size]),
    [
      ['a b', 'osdf:///ns/d/a%20b', 1],
      ['b,c.tar', 'osdf:///ns/d/b%2Cc.tar', 2],
      ['sub/z%', 'osdf:///ns/d/sub/z%25', 3],
    ],
  );
  assert.equal(asked[0]?.length, 3, 'the first is asked again');
});

test('a walk through a loop of folders ends', async (t) => {
  const listing = (url: string) => multistatus(response(`${url}/`), response(`${url}/again/`));
  const { federation } = await testFederation(
    t,
    [({ url }, answer) => answer.writeHead(207).end(listing(url))],
    { listing: true },
  );
  const walk = walkCollection('osdf:///ns/d', { federation });
  await assert.rejects(walk, /more than 100 nested folders/);
});

test('an empty collection has no entries and an object lists as itself', async (t) => {
  const { federation } = await lister(t);
  assert.deepEqual(await listCollection('osdf:///ns/d/empty', { federation }), []);
  assert.deepEqual(await listCollection('osdf:///ns/d/file', { federation }), [
    { url: 'osdf:///ns/d/file', name: 'file', isCollection: false, size: 9 },
  ]);
});

test('missing, hostile, garbled and forbidden listings are refused, each with its kind', async (t) => {
  const { federation } = await lister(t);
  await assert.rejects(listCollection('osdf:///ns/none', { federation }), isFault('object-missing'));
  for (const name of ['evil', 'headless', 'apart', 'html'])
    await assert.rejects(listCollection(`osdf:///ns/${name}`, { federation }), isFault('data-wrong'));
  const closed = await testFederation(t, [(_, answer) => answer.writeHead(404).end()]);
  await assert.rejects(
    listCollection('osdf:///ns/d', closed),
    (error) => isFault('servers-unreachable')(error) && /cannot be listed/.test((error as Fault).message),
  );
});

const xrootdListing = `<?xml version="1.0" encoding="utf-8"?>
<D:multistatus xmlns:D="DAV:" xmlns:ns1="http://apache.org/dav/props/" xmlns:ns0="DAV:">
<D:response xmlns:lp1="DAV:" xmlns:lp2="http://apache.org/dav/props/" xmlns:lp3="LCGDM:">
<D:href>/ns/dir/</D:href>
<D:propstat><D:prop>
<lp1:getcontentlength>4096</lp1:getcontentlength>
<lp1:getlastmodified>2024-05-06T07:08:09Z</lp1:getlastmodified>
<lp1:resourcetype><D:collection/></lp1:resourcetype>
<lp1:iscollection>1</lp1:iscollection>
<lp1:executable>T</lp1:executable>
<lp1:iscollection>1</lp1:iscollection>
</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
<D:response xmlns:lp1="DAV:"><D:href>/ns/dir//a b, &amp; 100%.tar</D:href>
<D:propstat><D:prop><lp1:getcontentlength>12345678901</lp1:getcontentlength><lp1:resourcetype/><lp1:iscollection>0</lp1:iscollection></D:prop>
<D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response>
</D:multistatus>`;

test('an XRootD listing is parsed, with its own prefixes, dates and unescaped names', () => {
  assert.deepEqual(parseMultistatus(xrootdListing), [
    { path: '/ns/dir', isCollection: true, modified: Date.UTC(2024, 4, 6, 7, 8, 9) },
    { path: '/ns/dir/a%20b%2C%20&%20100%25.tar', isCollection: false, size: 12345678901 },
  ]);
});

test('a Pelican listing is parsed, with whole URLs, escapes, tags and CDATA', () => {
  const xml = `<?xml version="1.0" encoding="UTF-8"?><D:multistatus xmlns:D="DAV:"><!-- <D:response> -->
<D:response><D:href>https://origin:8443/api/v1.0/origin/data/ns/d%C3%BC/x%23.bin</D:href><D:propstat><D:prop><D:resourcetype></D:resourcetype>
<D:getetag>"1-&quot;2&quot;"</D:getetag><D:getcontentlength>0</D:getcontentlength><D:getlastmodified>Mon, 06 May 2024 07:08:09 GMT</D:getlastmodified>
<D:displayname><![CDATA[</D:response><a>]]></D:displayname><D:supportedlock><D:lockentry xmlns:D="DAV:" a='>'><D:lockscope><D:exclusive/></D:lockscope></D:lockentry></D:supportedlock>
</D:prop><D:status>HTTP/1.1 200 OK</D:status></D:propstat></D:response></D:multistatus>`;
  assert.deepEqual(parseMultistatus(xml), [
    {
      path: '/api/v1.0/origin/data/ns/d%C3%BC/x%23.bin',
      isCollection: false,
      size: 0,
      etag: '"1-"2""',
      modified: Date.UTC(2024, 4, 6, 7, 8, 9),
    },
  ]);
});

test('a repeated property counts once', () => {
  const xml =
    '<multistatus><response><href>/d</href><iscollection>1</iscollection><iscollection>1</iscollection></response></multistatus>';
  assert.deepEqual(parseMultistatus(xml), [{ path: '/d', isCollection: true }]);
});

test('text that is not a multistatus is distinguished from an empty one', () => {
  const empty = '<multistatus xmlns="DAV:"/>';
  assert.equal(
    parseMultistatus(empty),
    undefined,
    'even of an empty folder, a listing has the folder itself',
  );
  for (const text of [
    '',
    '<html><body>login</body></html>',
    '{"error":"x"}',
    '<response><href>/x</href></response>',
  ])
    assert.equal(parseMultistatus(text), undefined);
});

test('a listing that is cut anywhere, or lacks a part, is refused and not a shorter one', () => {
  const mini = ['"e"', undefined].map((etag) =>
    miniMultistatus(
      ['/ns/d', '/ns/d/ü &.tar', '/ns/d/sub'].map((objectPath, index) => ({
        objectPath,
        isFolder: index !== 1,
        size: 5,
        modified: new Date(0),
        etag,
      })),
    ),
  );
  const plain = xrootdListing.replaceAll(/(<\/?)\w+:/g, '$1');
  for (const xml of [...mini, xrootdListing, plain]) {
    assert.ok((parseMultistatus(xml)?.length ?? 0) >= 2);
    for (let length = 0; length < xml.length; length++)
      assert.equal(parseMultistatus(xml.slice(0, length)), undefined, xml.slice(0, length));
    // A piece from the middle of the second entry is missing.
    const at = xml.lastIndexOf('href>/') + 8;
    assert.equal(parseMultistatus(xml.slice(0, at) + xml.slice(at + 30)), undefined);
  }
  const outside = xrootdListing.replace('/ns/dir//a b', 'elsewhere/a b');
  assert.equal(parseMultistatus(outside), undefined, 'an entry without a path is not left out');
});

test('a cut listing is requested again, from another origin where there is one, and then refused by name', async (t) => {
  const whole = tree['/ns/d'] ?? '';
  const half = whole.slice(0, whole.length / 2);
  type Answer = Parameters<typeof testFederation>[1][number];
  const cut: Answer = (_, answer) => answer.writeHead(207).end(half);
  const once: Answer = (_, answer, count) => answer.writeHead(207).end(count === 1 ? half : whole);
  const endless: Answer = ({ headers }, answer) => {
    answer.shouldKeepAlive = false;
    answer.removeHeader('Transfer-Encoding');
    answer.useChunkedEncodingByDefault = false;
    answer.writeHead(headers['depth'] === '1' ? 207 : 403, { Connection: 'close' }).end(whole);
  };
  const list = async (...answers: Answer[]) => {
    const shape = { listing: true, origin: true, origins: answers.length };
    const { federation, asked } = await testFederation(t, answers, shape);
    const listed = await listCollection('osdf:///ns/d', { federation }).catch(
      (error: unknown) => error as Fault,
    );
    return { listed, requests: asked.map((each) => each.length) };
  };
  const again = await list(once);
  assert.ok(Array.isArray(again.listed) && again.listed.length === 3);
  assert.deepEqual(again.requests, [2]);
  const good: Answer = (_, answer) => answer.writeHead(207).end(whole);
  const elsewhere = await list(good, cut);
  assert.ok(Array.isArray(elsewhere.listed) && elsewhere.listed.length === 3);
  assert.deepEqual(elsewhere.requests, [1, 2]);
  const missing = await list(good, (_, answer) => answer.writeHead(404).end());
  assert.ok(missing.listed instanceof Fault && missing.listed.kind === 'object-missing');
  for (const bad of [cut, endless]) {
    const { listed, requests } = await list(bad);
    assert.ok(listed instanceof Fault && listed.kind === 'data-wrong');
    assert.match(listed.message, /^osdf:\/\/\/ns\/d: 127\.0\.0\.1:\d+ does not answer with a whole listing$/);
    assert.deepEqual(requests, [2]);
  }
});

test('no text makes the parser fail', () => {
  const pieces = [
    '<D:multistatus>',
    '<response>',
    '</response>',
    '<href>',
    '</href>',
    '/a',
    '%',
    '&#x110000;',
    '&#0;',
    '<![CDATA[',
    ']]>',
    '<!--',
    '<',
    '>',
    '"',
    '<a b="',
    '<collection/>',
    '<resourcetype>',
  ];
  fc.assert(
    fc.property(
      fc.array(fc.oneof(fc.constantFrom(...pieces), fc.string())),
      (parts) => void parseMultistatus(parts.join('')),
    ),
    { numRuns: 300 },
  );
});

test('a hostile listing costs no more than its length', () => {
  const head = '<D:multistatus xmlns:D="DAV:">';
  const start = process.cpuUsage();
  for (const part of [
    '<a',
    '<!--',
    '<![CDATA[',
    '<a "',
    "<a '",
    '<a>',
    '</a>',
    '&a',
    '<',
    '<a:',
    '<?',
    '<response><href>/',
  ]) {
    const xml = head + part.repeat(1_000_000 / part.length);
    for (const text of [xml, `${xml}>`, `${xml}--></D:multistatus>`]) parseMultistatus(text);
  }
  // Tags that close what was never opened, deep inside others.
  assert.equal(parseMultistatus(head + '<a>'.repeat(200_000) + '</b>'.repeat(200_000)), undefined);
  const { user, system } = process.cpuUsage(start);
  assert.ok((user + system) / 1e6 < 6);
  // Cut in the middle of a tag, it is invalid, not a shorter listing.
  assert.equal(parseMultistatus(`${head}${response('/a', 1)}<D:respon`), undefined);
});
