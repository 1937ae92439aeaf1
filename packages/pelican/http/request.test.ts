import assert from 'node:assert/strict';
import net, { type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { jumpingClock } from '../../../test/federation/jumping-clock.ts';
import { webServer } from '../../../test/federation/web-server.ts';
import { type Clock, systemClock } from '@updraft/base';
import { ConnectionPool } from './connections.ts';
import { NoAnswer, type NoAnswerReason } from './no-answer.ts';
import { createRequest } from './exchange.ts';

const on = (clock: Clock) => createRequest(new ConnectionPool({ clock, ca: undefined }));
const quick = on(jumpingClock());
const because = (reason: NoAnswerReason) => (error: unknown) =>
  error instanceof NoAnswer && error.reason === reason;

test('an answer has its status, joined headers and body, whatever the status', async (t) => {
  const server = await webServer(
    t,
    (_, response) => response.writeHead(418, { Link: ['<a>', '<b>'] }).end('teapot'),
    { plain: true },
  );
  const { status, headers, body } = await quick({
    method: 'PROPFIND',
    url: `${server.url}/x%2Cy?q=1`,
    headers: { Depth: '1' },
  });
  assert.deepEqual([status, headers['link'], body], [418, '<a>, <b>', 'teapot']);
  assert.deepEqual(
    [server.requests[0]?.method, server.requests[0]?.url, server.requests[0]?.headers['depth']],
    ['PROPFIND', '/x%2Cy?q=1', '1'],
  );
});

test('redirects are not followed by default, and a token stays with its host', async (t) => {
  const far = await webServer(t, (_, response) => response.end('far'), { plain: true });
  const near = await webServer(
    t,
    ({ url }, response) => response.writeHead(307, { Location: url === '/a' ? '/b' : `${far.url}/c` }).end(),
    { plain: true },
  );
  const headers = { authorization: 'Bearer secret', 'X-Kept': '1' };
  assert.equal((await quick({ method: 'GET', url: `${near.url}/a`, headers })).status, 307);
  const answer = await quick({ method: 'GET', url: `${near.url}/a`, headers, redirects: 2 });
  assert.deepEqual([answer.body, answer.url], ['far', `${far.url}/c`]);
  assert.equal(near.requests.at(-1)?.headers.authorization, 'Bearer secret');
  assert.equal(far.requests[0]?.headers.authorization, undefined);
  assert.equal(far.requests[0]?.headers['x-kept'], '1');
});

test('a server that never answers, or stops halfway, times out', async (t) => {
  const server = await webServer(
    t,
    ({ url }, response) => {
      if (url === '/half') response.writeHead(200, { 'Content-Length': '10' }).write('half');
    },
    { plain: true },
  );
  const slow = (held: number[]) => on(jumpingClock(held));
  await assert.rejects(slow([10_000])({ method: 'GET', url: server.url }), because('timeout'));
  await assert.rejects(
    slow([10_000, 20_000])({ method: 'GET', url: `${server.url}/half` }),
    because('timeout'),
  );
});

test('refused connections, resets, unknown names and garbled answers are distinguished', async (t) => {
  const listener = net.createServer((socket) =>
    socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n\r\n')),
  );
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve));
  t.after(() => listener.close());
  const { port } = listener.address() as AddressInfo;
  await assert.rejects(quick({ method: 'GET', url: `http://127.0.0.1:${port}/` }), because('garbage'));
  await assert.rejects(quick({ method: 'GET', url: `https://127.0.0.1:${port}/` }), because('garbage'));
  const resetting = await webServer(t, (_, response) => response.destroy(), { plain: true });
  await assert.rejects(quick({ method: 'GET', url: resetting.url }), because('reset'));
  await assert.rejects(quick({ method: 'GET', url: 'http://127.0.0.1:1/' }), because('refused'));
});

test('an answer over the size limit is not read to its end', async (t) => {
  const server = await webServer(t, (_, response) => response.end(Buffer.alloc(2000)), { plain: true });
  await assert.rejects(quick({ method: 'GET', url: server.url, maxBody: 1000 }), because('garbage'));
});

test('an idle connection that the server has closed is replaced', async (t) => {
  let answered = 0;
  const server = await webServer(
    t,
    (_, response) => {
      // The second request on a connection meets its end, as with a server whose idle timeout has passed.
      if (answered++ === 1) response.destroy();
      else response.end('ok');
    },
    { plain: true },
  );
  assert.equal((await quick({ method: 'GET', url: server.url })).body, 'ok');
  assert.equal((await quick({ method: 'GET', url: server.url })).body, 'ok');
  assert.equal(server.requests.length, 3);
});

test('an abort ends the request at once with its reason', async (t) => {
  const stop = new AbortController();
  const reason = new Error('enough');
  const server = await webServer(t, () => stop.abort(reason), { plain: true });
  await assert.rejects(quick({ method: 'GET', url: server.url, signal: stop.signal }), reason);
  await assert.rejects(quick({ method: 'GET', url: server.url, signal: stop.signal }), reason);
});

test('IPv6 servers are reached', async (t) => {
  const server = await webServer(t, (_, response) => response.end('six'), {
    plain: true,
    address: '::1',
  }).catch(() => undefined);
  if (server === undefined) {
    t.skip('this machine has no IPv6 loopback');
    return;
  }
  assert.equal((await quick({ method: 'GET', url: server.url })).body, 'six');
});

test('once the answer is there, nothing keeps the process from exiting', async (t) => {
  const server = await webServer(t, (_, response) => response.end('yes'), { plain: true });
  const waits = new Set<AbortSignal>();
  const sleep: Clock['sleep'] = (_, signal) => {
    if (signal !== undefined) waits.add(signal);
    return new Promise(() => undefined);
  };
  const request = on({ ...systemClock, sleep });
  assert.equal((await request({ method: 'GET', url: server.url })).body, 'yes');
  assert.ok(waits.size > 0);
  assert.ok([...waits].every(({ aborted }) => aborted));
});

test('the signature in a URL is redacted from what its server repeats of it, and from no redirect', async (t) => {
  const server = await webServer(
    t,
    ({ url }, response) =>
      response
        .writeHead(403, { Location: url, 'X-Why': url })
        .end(`SignatureProvided: ${new URL(url, server.url).searchParams.get('X-Amz-Signature')}, part 12`),
    { plain: true },
  );
  const query = '?part=12&X-Amz-Signature=0d5ecb8e91c4f6a2';
  const { body, headers } = await quick({ method: 'GET', url: `${server.url}/x${query}` });
  assert.equal(body, 'SignatureProvided: …, part 12');
  assert.equal(headers['x-why'], '/x?part=12&X-Amz-Signature=…');
  assert.equal(headers['location'], `/x${query}`);
});
