import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { parseMultistatus } from './multistatus.ts';

test('an XRootD listing is read, with its own prefixes, dates and unescaped names', () => {
  const xml = `<?xml version="1.0" encoding="utf-8"?>
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
  assert.deepEqual(parseMultistatus(xml), [
    { path: '/ns/dir', isCollection: true, modified: Date.UTC(2024, 4, 6, 7, 8, 9) },
    { path: '/ns/dir/a%20b%2C%20&%20100%25.tar', isCollection: false, size: 12345678901 },
  ]);
});

test('a Pelican listing is read, with whole URLs, escapes, tags and CDATA', () => {
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

test('a property that is said twice counts once', () => {
  const xml =
    '<multistatus><response><href>/d</href><iscollection>1</iscollection><iscollection>1</iscollection></response></multistatus>';
  assert.deepEqual(parseMultistatus(xml), [{ path: '/d', isCollection: true }]);
});

test('what is no multistatus is told apart from an empty one', () => {
  assert.deepEqual(parseMultistatus('<multistatus xmlns="DAV:"/>'), []);
  for (const text of [
    '',
    '<html><body>login</body></html>',
    '{"error":"x"}',
    '<response><href>/x</href></response>',
  ])
    assert.equal(parseMultistatus(text), undefined);
});

test('no text whatever makes the reader fail', () => {
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
