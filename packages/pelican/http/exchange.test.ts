import assert from 'node:assert/strict';
import { test } from 'node:test';
import { objectBytes, serveObject } from '../../../test/transfer/object-server.ts';
import { jumpingClock } from '../../../test/federation/jumping-clock.ts';
import type { Fault } from '../fault.ts';
import { ConnectionPool } from './connections.ts';
import { sendRequest, requestHead } from './exchange.ts';

const url = new URL('http://host:8000/a%20b?x=1');

test('a request head has one line per header and ends with an empty one', () => {
  const text = requestHead('GET', url, { Range: 'bytes=0-' });
  assert.match(text, /^GET \/a%20b\?x=1 HTTP\/1\.1\r\nHost: host:8000\r\n/);
  assert.match(text, /\r\nRange: bytes=0-\r\n\r\n$/);
});

test('a header that would smuggle in another one is refused without being shown', () => {
  for (const headers of [
    { Authorization: 'Bearer secret\r\nX: y' },
    { 'X: y\r\nZ': 'a' },
    { A: 'b\0' },
    { A: '\u20ac' },
  ])
    assert.throws(
      () => requestHead('GET', url, headers),
      (error: Fault) => {
        assert.equal(error.kind, 'url-invalid');
        assert.doesNotMatch(error.message, /secret/);
        return true;
      },
    );
});

function request(target: string) {
  const { signal } = new AbortController();
  return { method: 'GET' as const, url: target, headers: {}, headMs: 10_000, signal };
}

test('a connection is reused, and silently replaced if the server closed it', async (t) => {
  const ports = new Set<number | undefined>();
  const closes = await serveObject(t, {
    bytes: objectBytes(1000),
    get: (e) => {
      ports.add(e.request.socket.remotePort);
      e.answer();
      if (e.nth === 2) e.request.socket.end();
    },
  });
  const pool = new ConnectionPool({ clock: jumpingClock(), ca: undefined });
  t.after(() => pool.close());
  for (let nth = 0; nth < 3; nth++) {
    const { head, connection, url: from } = await sendRequest(pool, request(closes.server.url));
    assert.equal(head.status, 200);
    let bytes = 0;
    await connection.body((data) => void (bytes += data.length));
    assert.equal(bytes, 1000);
    pool.release(from, connection);
  }
  assert.equal(ports.size, 2);
});

test('a redirect loop ends', async (t) => {
  const circle = await serveObject(t, {
    bytes: objectBytes(1),
    get: (e) => e.answer({ status: 302, headers: { Location: '/again' }, body: Buffer.alloc(0) }),
  });
  const pool = new ConnectionPool({ clock: jumpingClock(), ca: undefined });
  t.after(() => pool.close());
  await assert.rejects(sendRequest(pool, request(circle.server.url)), /redirects more than 5 times/);
});

test('only http and https URLs are requested', async (t) => {
  const pool = new ConnectionPool({ clock: jumpingClock(), ca: undefined });
  t.after(() => pool.close());
  for (const bad of ['ftp://host/x', 'nonsense'])
    await assert.rejects(sendRequest(pool, request(bad)), (error: Fault) => error.kind === 'url-invalid');
});
