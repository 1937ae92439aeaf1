import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { bodyDecoder, HeadParser, parseHead, ProtocolError, type BodyDecoder } from './response.ts';

const text = 'HTTP/1.1 206 Partial Content\r\nContent-Length: 3\r\nX-A: one\r\nx-a:  two \r\n\r\nabc';

test('a head is parsed the same wherever it is split', () => {
  const whole = Buffer.from(text);
  for (let cut = 0; cut <= whole.length; cut++) {
    const parser = new HeadParser();
    let parsed = parser.feed(whole.subarray(0, cut));
    let body = cut;
    if (parsed === undefined) {
      parsed = parser.feed(whole.subarray(cut));
      body = cut + (parsed?.bodyAt ?? 0);
    } else body = parsed.bodyAt;
    assert.equal(parsed?.head.status, 206);
    assert.equal(parsed.head.headers.get('x-a'), 'one, two');
    assert.equal(whole.subarray(body).toString(), 'abc');
  }
});

test('an interim answer is skipped', () => {
  const parsed = new HeadParser().feed(Buffer.from(`HTTP/1.1 100 Continue\r\n\r\n${text}`));
  assert.equal(parsed?.head.status, 206);
  assert.equal(Buffer.from(`HTTP/1.1 100 Continue\r\n\r\n${text}`).subarray(parsed.bodyAt).toString(), 'abc');
});

test('what is not HTTP is refused', () => {
  const bad = [
    'SSH-2.0-OpenSSH\r\n',
    'HTTP/2 200\r\n\r\n',
    'HTTP/1.1 abc\r\n\r\n',
    'HTTP/1.1 200 OK\r\nno colon\r\n\r\n',
  ];
  for (const each of bad) assert.throws(() => new HeadParser().feed(Buffer.from(each)), ProtocolError, each);
});

test('an endless head is refused', () => {
  const parser = new HeadParser();
  parser.feed(Buffer.from('HTTP/1.1 200 OK\r\n'));
  assert.throws(() => {
    for (let line = 0; line < 10_000; line++) parser.feed(Buffer.from(`X-${line}: aaaaaaaaaaaaaaaa\r\n`));
  }, ProtocolError);
});

test('a connection is kept or closed as the server says', () => {
  const keep = (head: string) => new HeadParser().feed(Buffer.from(`${head}\r\n\r\n`))?.head.keepAlive;
  assert.equal(keep('HTTP/1.1 200 OK'), true);
  assert.equal(keep('HTTP/1.1 200 OK\r\nConnection: Close'), false);
  assert.equal(keep('HTTP/1.0 200 OK'), false);
  assert.equal(keep('HTTP/1.0 200 OK\r\nConnection: keep-alive'), true);
});

const decoder = (fields: string): BodyDecoder =>
  bodyDecoder(parseHead(`HTTP/1.1 200 OK\r\n${fields}`), 'GET');

/** Decodes bytes fed in pieces of these lengths; also returns what is left after the end. */
function decode(body: BodyDecoder, bytes: Buffer, lengths: number[]): { data: string; rest: string } {
  let data = '';
  let offset = 0;
  for (let nth = 0; offset < bytes.length && !body.done; nth++) {
    const chunk = bytes.subarray(offset, offset + (lengths[nth % lengths.length] ?? 1));
    const { next, data: some } = body.step(chunk, 0);
    data += some?.toString('latin1') ?? '';
    offset += next;
  }
  return { data, rest: bytes.subarray(offset).toString('latin1') };
}

const wire = 'a\r\n0123456789\r\n5;name=value\r\nabcde\r\n0\r\nX-Transfer-Status: 200: OK\r\n\r\nNEXT';

test('a chunked body is the same however it is split, and its trailers are read', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1 }), (lengths) => {
      const body = decoder('Transfer-Encoding: chunked');
      assert.deepEqual(decode(body, Buffer.from(wire), lengths), { data: '0123456789abcde', rest: 'NEXT' });
      assert.equal(body.done, true);
      assert.equal(body.trailers.get('x-transfer-status'), '200: OK');
    }),
  );
});

test('a body with a length ends there', () => {
  const body = decoder('Content-Length: 4');
  assert.deepEqual(decode(body, Buffer.from('abcdNEXT'), [3]), { data: 'abcd', rest: 'NEXT' });
  assert.equal(decoder('Content-Length: 0').done, true);
});

test('a body without any framing ends with the connection', () => {
  const body = decoder('X: y');
  assert.equal(body.untilClose, true);
  assert.equal(decode(body, Buffer.from('abc'), [2]).data, 'abc');
  assert.equal(body.done, false);
});

test('malformed framing is refused', () => {
  for (const bad of ['xyz\r\n', '5\r\nabcdeXX\r\n', '-1\r\n', 'fffffffffffff\r\n', 'a'.repeat(9000)])
    assert.throws(
      () => decode(decoder('Transfer-Encoding: chunked'), Buffer.from(bad), [7]),
      ProtocolError,
      bad,
    );
  assert.throws(() => decoder('Content-Length: -5'), ProtocolError);
  assert.throws(() => decoder('Content-Length: 5, 6'), ProtocolError);
  assert.throws(() => decoder('Transfer-Encoding: gzip'), ProtocolError);
});
