import assert from 'node:assert/strict';
import { test } from 'node:test';
import { HeadParser, ProtocolError } from './response-head.ts';

const text = 'HTTP/1.1 206 Partial Content\r\nContent-Length: 3\r\nX-A: one\r\nx-a:  two \r\n\r\nabc';

test('a head is read the same wherever it is cut', () => {
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

test('an interim answer is passed over', () => {
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

test('connections are kept or closed as the server says', () => {
  const keep = (head: string) => new HeadParser().feed(Buffer.from(`${head}\r\n\r\n`))?.head.keepAlive;
  assert.equal(keep('HTTP/1.1 200 OK'), true);
  assert.equal(keep('HTTP/1.1 200 OK\r\nConnection: Close'), false);
  assert.equal(keep('HTTP/1.0 200 OK'), false);
  assert.equal(keep('HTTP/1.0 200 OK\r\nConnection: keep-alive'), true);
});
