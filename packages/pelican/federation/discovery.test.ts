import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { jumpingClock } from '../../../test/federation/jumping-clock.ts';
import { testAuthority, webServer } from '../../../test/federation/web-server.ts';
import { Fault } from '../fault.ts';
import { ConnectionPool } from '../http/connections.ts';
import { createRequest } from '../http/exchange.ts';
import { readTrust } from '../http/trust.ts';
import { createDiscovery, plainHttpRule } from './discovery.ts';

type Reply = { status?: number; body?: unknown; headers?: Record<string, string> } | 'reset';

/** A discovery host that gives these replies in turn, and repeats the last one. */
async function host(t: TestContext, replies: Reply[], env: Record<string, string> = {}) {
  const clock = jumpingClock();
  const plain = env['UPDRAFT_FEDERATION_HTTP'] === '1';
  const server = await webServer(
    t,
    (_, response) => {
      const reply = replies[Math.min(server.requests.length, replies.length) - 1];
      if (reply === undefined || reply === 'reset') return response.destroy();
      const body = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? {});
      return response.writeHead(reply.status ?? 200, reply.headers).end(body);
    },
    { plain },
  );
  const request = createRequest(
    new ConnectionPool({ clock: clock, ca: readTrust({ SSL_CERT_FILE: testAuthority }) }),
  );
  const discovery = createDiscovery({
    request,
    clock,
    plainHttp: plainHttpRule(env),
    userAgent: 'updraft/0',
  });
  return { server, clock, discover: (signal?: AbortSignal) => discovery.discover(server.host, signal) };
}

const good = {
  body: {
    director_endpoint: 'https://director.example:8444/',
    discovery_endpoint: 'https://elsewhere.example',
  },
};

test('the metadata are requested over https, once, and name the director', async (t) => {
  const { server, clock, discover } = await host(t, [good]);
  const federation = await discover();
  // Whatever the document claims, the federation is that of the host that was asked.
  assert.deepEqual(federation, { discoveryUrl: server.url, directorUrl: 'https://director.example:8444' });
  assert.match(server.url, /^https:/);
  assert.equal(server.requests[0]?.url, '/.well-known/pelican-configuration');
  assert.equal(server.requests[0].headers['user-agent'], 'updraft/0');
  clock.advance(29 * 60_000);
  await discover();
  assert.equal(server.requests.length, 1);
  clock.advance(2 * 60_000);
  await discover();
  assert.equal(server.requests.length, 2);
});

test('a host that refuses connections is retried only as long as a caller waits for it', async () => {
  // Waits have a quarter of jitter: both bounds allow for the longest and for no further one.
  for (const [refusedTimeoutMs, waits] of [
    [4_000, 2],
    [undefined, 4],
  ] as const) {
    const clock = jumpingClock();
    const request = createRequest(new ConnectionPool({ clock, ca: undefined }));
    const discovery = createDiscovery({
      request,
      clock,
      plainHttp: plainHttpRule({}),
      userAgent: 'updraft/0',
      refusedTimeoutMs,
    });
    await assert.rejects(discovery.discover('127.0.0.1:9'), /127\.0\.0\.1:9 refuses connections/);
    assert.equal(clock.slept.length, waits);
  }
});

test('concurrent callers share one request, and one that leaves does not stop the others', async (t) => {
  const { server, discover } = await host(t, [good]);
  const leaving = new AbortController();
  const left = discover(leaving.signal);
  const stayed = [discover(), discover()];
  leaving.abort(new Error('left'));
  await assert.rejects(left, /left/);
  assert.equal((await Promise.all(stayed)).length, 2);
  assert.equal(server.requests.length, 1);
});

test('resets and 5xx are retried with growing waits and Retry-After', async (t) => {
  const { clock, discover } = await host(t, [
    'reset',
    { status: 503, headers: { 'Retry-After': '7' } },
    { status: 500 },
    good,
  ]);
  assert.equal((await discover()).directorUrl, 'https://director.example:8444');
  const [first = 0, second = 0, third = 0] = clock.slept;
  assert.ok(
    first >= 1000 && first <= 1250 && second === 7000 && third >= 4000 && third <= 5000,
    String(clock.slept),
  );
});

test('metadata without a director describe a federation of one server', async (t) => {
  const { server, discover } = await host(t, [{ body: { discovery_endpoint: 'x', director_endpoint: '' } }]);
  assert.deepEqual(await discover(), { discoveryUrl: server.url, directorUrl: undefined });
});

test('a host without a federation is named, with what was expected of it', async (t) => {
  const cases: [Reply, RegExp][] = [
    [{ status: 404 }, /answers 404/],
    [{ status: 410 }, /answers 410/],
    [
      { body: '<html>Welcome</html>', headers: { 'Content-Type': 'text/html' } },
      /expected JSON with a director_endpoint, got text\/html/,
    ],
    [{ body: '[]' }, /expected JSON/],
    [{ body: { hello: 1 } }, /expected JSON/],
    [{ body: { director_endpoint: 'http://director.example' } }, /not an https URL/],
    [{ body: { director_endpoint: 7 } }, /not an https URL/],
  ];
  for (const [reply, message] of cases) {
    const { server, clock, discover } = await host(t, [reply]);
    const isRight = (error: unknown): boolean =>
      error instanceof Fault &&
      error.kind === 'discovery-failed' &&
      error.about === server.host &&
      message.test(error.message);
    await assert.rejects(discover(), isRight);
    assert.deepEqual(clock.slept, []);
  }
});

test('a failure is remembered briefly, then the host is asked again', async (t) => {
  const { server, clock, discover } = await host(t, [{ status: 404 }, good]);
  await assert.rejects(discover());
  await assert.rejects(discover());
  assert.equal(server.requests.length, 1);
  clock.advance(60_000);
  await discover();
});

test('a silent host is given up after half a minute', async (t) => {
  const { clock, discover } = await host(t, ['reset']);
  const start = clock.monotonic();
  await assert.rejects(discover(), /broke the connection/);
  assert.ok(clock.slept.length >= 3 && clock.monotonic() - start <= 30_000);
});

test('plain http needs the variable and a loopback host', async (t) => {
  const { server, discover } = await host(t, [{ body: { director_endpoint: 'http://127.0.0.1:9/' } }], {
    UPDRAFT_FEDERATION_HTTP: '1',
  });
  assert.deepEqual(await discover(), { discoveryUrl: server.url, directorUrl: 'http://127.0.0.1:9' });
  const rule = plainHttpRule({ UPDRAFT_FEDERATION_HTTP: '1' });
  const allowed = [
    'localhost',
    'localhost:80',
    '127.0.0.1:80',
    '[::1]:80',
    'example.org',
    '10.0.0.1',
    '127.0.0.1.example.org',
    'localhost.example.org',
  ].map(rule);
  assert.deepEqual(allowed, [true, true, true, true, false, false, false, false]);
  assert.equal(plainHttpRule({})('localhost'), false);
});
