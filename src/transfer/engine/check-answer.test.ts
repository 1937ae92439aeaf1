import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { FaultKind } from '../../fault/kinds.ts';
import { parseHead } from '../../http/response.ts';
import { checkAnswer, type Asked, type Identity } from './check-answer.ts';
import { Setback, type Trouble } from './setback.ts';

const asked: Asked = {
  host: 'cache:8443',
  name: 'data.tar',
  offset: 0,
  tokenSent: false,
  tokenFix: undefined,
  confirm: false,
  maySkip: false,
  words: '',
  now: 0,
};
const unknown: Identity = { size: undefined, etag: undefined, lastModified: undefined };

function check(lines: string[], more: Partial<Asked> = {}, known: Partial<Identity> = {}) {
  return checkAnswer(parseHead(lines.join('\r\n')), { ...asked, ...more }, { ...unknown, ...known });
}

function refused(trouble: Trouble, kind: FaultKind, message: RegExp) {
  return (error: unknown) => {
    assert.ok(error instanceof Setback);
    assert.deepEqual([error.trouble, error.fault.kind], [trouble, kind]);
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

test('a page instead of the object is refused, unless a page was asked for', () => {
  const page = [...whole, 'Content-Type: text/html; charset=utf-8'];
  assert.throws(() => check(page), refused('wrong', 'data-wrong', /sends an HTML page instead of data\.tar/));
  assert.equal(check(page, { name: 'index.html' }).size, 10);
});

test('an answer must begin at the byte that was asked for', () => {
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
  assert.equal(check([...whole, 'ETag: W/"b"'], {}, { etag: '"a"' }).etag, undefined);
});
