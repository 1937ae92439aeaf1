import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FaultKind } from '../../fault.ts';
import type { OriginFacts } from '../../federation/stat-object.ts';
import { parseHead } from '../../http/response.ts';
import {
  checkResponse,
  needsDigest,
  needsOrigin,
  type Expectation,
  type Identity,
  Setback,
  type SetbackKind,
} from './check-response.ts';

const asked: Expectation = {
  url: 'osdf:///ns/data.tar',
  isFederated: true,
  host: 'cache:8443',
  name: 'data.tar',
  offset: 0,
  tokenSent: false,
  tokenFix: undefined,
  maySkip: false,
  errorText: '',
  now: 0,
};
const unknown: Identity = { size: undefined, etag: undefined, modified: undefined };

function check(lines: string[], more: Partial<Expectation> = {}, known: Partial<Identity> = {}) {
  return checkResponse(parseHead(lines.join('\r\n')), { ...asked, ...more }, { ...unknown, ...known });
}

function refused(trouble: SetbackKind, kind: FaultKind, message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof Setback);
    assert.deepEqual([error.kind, error.fault.kind], [trouble, kind]);
    assert.match(error.fault.message, message);
    return true;
  };
}

const whole = ['HTTP/1.1 200 OK', 'Content-Length: 10'];

test('bytes that the server has encoded are not the bytes of the object', () => {
  for (const encoding of ['gzip', 'br', 'GZIP', 'identity, gzip', ''])
    assert.throws(
      () => check([...whole, `Content-Encoding: ${encoding}`]),
      refused('wrong', 'data-wrong', /sends data\.tar encoded as "/),
    );
  assert.equal(check([...whole, 'Content-Encoding: identity']).size, 10);
  assert.equal(check(whole).size, 10);
});

test('an HTML page instead of the object is refused, unless a page was requested', () => {
  const page = [...whole, 'Content-Type: text/html; charset=utf-8'];
  assert.throws(() => check(page), refused('wrong', 'data-wrong', /sends an HTML page instead of data\.tar/));
  assert.equal(check(page, { name: 'index.html' }).size, 10);
});

const object: OriginFacts = { isCollection: false, server: 'origin:8443', kind: 'origin' };

test('an object that is an HTML page is accepted if the origin confirms its size', () => {
  const page = [...whole, 'Content-Type: text/html; charset=utf-8'];
  assert.equal(check(page, { origin: { ...object, size: 10 } }).size, 10);
  assert.equal(check(['HTTP/1.1 200 OK', ...page.slice(2)], { origin: { ...object, size: 10 } }).from, 0);
  const refusal = refused('wrong', 'data-wrong', /an HTML page/);
  for (const origin of [{ ...object, size: 11 }, object])
    assert.throws(() => check(page, { origin }), refusal);
});

test('a folder is refused as such, whether its server refuses, lists it, or the origin knows', () => {
  const isFolder = { kind: 'url-invalid', message: /data\.tar is a folder/, fix: /--recursive/ };
  const origin = { ...object, isCollection: true };
  for (const line of ['405 Method Not Allowed', '409 Conflict', '200 OK'])
    assert.throws(() => check([`HTTP/1.1 ${line}`], { origin }), isFolder);
  assert.throws(() => check(['HTTP/1.1 405 Method Not Allowed']), isFolder);
  const refusal = refused('wrong', 'data-wrong', /405/);
  assert.throws(() => check(['HTTP/1.1 405 No'], { origin: object }), refusal);
  assert.throws(() => check(['HTTP/1.1 405 No'], { isFederated: false }), refusal);
});

test('an empty object may be answered with 416 alone if the origin says that it is empty', () => {
  const bare = ['HTTP/1.1 416 Requested range not satisfiable'];
  const { size, to } = check(bare, { origin: { ...object, size: 0 } });
  assert.deepEqual([size, to], [0, 0]);
  const refusal = refused('changed', 'object-changed', /no such range/);
  for (const origin of [{ ...object, size: 5 }, undefined])
    assert.throws(() => check(bare, { origin }), refusal);
});

test('the origin is waited for only if the answer itself leaves something open', () => {
  const open = (lines: string[], more: Partial<Expectation> = {}, known: Partial<Identity> = {}) =>
    needsOrigin(parseHead(lines.join('\r\n')), { ...asked, ...more }, { ...unknown, ...known });
  const date = 'Last-Modified: Mon, 06 May 2024 07:08:09 GMT';
  const modified = Date.UTC(2024, 4, 6, 7, 8, 9);
  const part = ['HTTP/1.1 206 Partial Content', 'Content-Range: bytes 0-9/10'];
  for (const status of [405, 409, 416]) assert.ok(open([`HTTP/1.1 ${status} No`]));
  assert.ok(open(whole), 'as XRootD lists a folder');
  assert.ok(open([...whole, date, 'Content-Type: text/html']));
  assert.ok(open(part, {}, { modified }));
  assert.ok(open([...part, 'ETag: "a"'], {}, { modified }));
  for (const status of [404, 503]) assert.ok(!open([`HTTP/1.1 ${status} No`]));
  assert.ok(!open(part));
  assert.ok(!open([...whole, date]));
  assert.ok(!open([...part, date], {}, { modified }));
  assert.ok(!open([...part, date, 'ETag: "a"'], {}, { etag: '"b"', modified }));
});

test('an answer must begin at the requested byte', () => {
  const part = ['HTTP/1.1 206 Partial Content', 'Content-Range: bytes 4-9/10'];
  assert.deepEqual(
    [check(part, { offset: 4 }).from, check(part, { offset: 4 }).to, check(part, { offset: 4 }).size],
    [4, 10, 10],
  );
  assert.throws(() => check(part), refused('wrong', 'data-wrong', /asked for byte 0 and sends byte 4/));
  assert.throws(
    () => check(whole, { offset: 4 }),
    refused('no-ranges', 'transfer-failed', /sends the whole object/),
  );
  assert.equal(check(whole, { offset: 4, maySkip: true }).from, 0);
});

test('another size or ETag is another version', () => {
  const changed = refused('changed', 'object-changed', /has 10 bytes, expected 11|another version/);
  assert.throws(() => check(whole, {}, { size: 11 }), changed);
  assert.throws(() => check([...whole, 'ETag: "b"'], {}, { etag: '"a"' }), changed);
  assert.throws(() => check([...whole, 'ETag: W/"a"'], {}, { etag: '"a"' }), changed);
});

test('equal times never outweigh different ETags; of two servers, equal digests do', () => {
  const tagged = [...whole, 'ETag: "b"', 'Last-Modified: Mon, 06 May 2024 07:08:09 GMT'];
  const modified = Date.UTC(2024, 4, 6, 7, 8, 9);
  const known = { size: 10, etag: '"a"', modified, server: 'other:8443' };
  const changed = refused('changed', 'object-changed', /ETag "b"; other:8443: ETag "a"/);
  for (const origin of [undefined, { ...object, size: 10, modified }])
    assert.throws(() => check(tagged, { origin }, known), changed);
  assert.equal(check(tagged, { hasSameDigest: true }, known).etag, '"a"', 'what was known stays');
  const head = parseHead(tagged.join('\r\n'));
  assert.ok(needsDigest(head, asked, known));
  assert.ok(!needsDigest(head, asked, { ...known, server: asked.host }), 'one server contradicts itself');
  assert.ok(!needsDigest(head, asked, { ...known, etag: '"b"' }));
});

test("without ETags the modification times decide; if a server gives none, the origin's", () => {
  const modified = Date.UTC(2024, 4, 6, 7, 8, 9);
  const known = { size: 10, etag: '"a"', modified };
  const changed = refused('changed', 'object-changed', /another version/);
  assert.equal(check([...whole, 'Last-Modified: Mon, 06 May 2024 07:08:09 GMT'], {}, known).size, 10);
  const later = [...whole, 'Last-Modified: Mon, 06 May 2024 07:08:10 GMT', 'ETag: W/"a"'];
  assert.throws(() => check(later, {}, known), changed);
  const same = { ...object, size: 10, modified };
  assert.equal(check(whole, { origin: same }, { size: 10, modified }).size, 10);
  for (const origin of [{ ...same, modified: modified + 1000 }, { ...same, size: 11 }, undefined])
    assert.throws(() => check(whole, { origin }, { size: 10, modified }), changed);
  assert.equal(check(whole, {}, { size: 10 }).size, 10);
});
