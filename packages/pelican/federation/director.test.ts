import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import { jumpingClock } from '../../../test/federation/jumping-clock.ts';
import { webServer } from '../../../test/federation/web-server.ts';
import { Fault, type FaultKind } from '../fault.ts';
import type { OnWait } from './back-off.ts';
import { createDirector } from './director.ts';
import { ConnectionPool } from '../http/connections.ts';
import { createRequest } from '../http/exchange.ts';

interface Reply {
  status: number;
  headers?: Record<string, string | string[]>;
  body?: string;
}
type Script = (path: string, count: number, method: string) => Reply | 'reset';

async function director(t: TestContext, script: Script) {
  const clock = jumpingClock();
  const server = await webServer(
    t,
    ({ url, method }, response) => {
      const reply = script(url, server.requests.length, method);
      if (reply === 'reset') response.destroy();
      else response.writeHead(reply.status, { Server: 'pelican/7.27.0', ...reply.headers }).end(reply.body);
    },
    { plain: true },
  );
  const request = createRequest(new ConnectionPool({ clock, ca: undefined }));
  const asked = createDirector({ request, clock, headers: { 'User-Agent': 'updraft/0' } });
  const ask = (
    path: string,
    asking: {
      fresh?: boolean;
      query?: string;
      verb?: 'GET' | 'PUT';
      signal?: AbortSignal;
      onWait?: OnWait;
    } = {},
  ) => {
    const { fresh = false, query = '', verb = 'GET', signal, onWait } = asking;
    return asked.ask({ directorUrl: server.url, verb, path, query }, { fresh, signal, onWait });
  };
  return { ask, clock, requests: server.requests };
}

function found(path: string, namespace = '/ns'): Reply {
  const [name] = path.split('?');
  return {
    status: 307,
    headers: {
      Link: `<https://b:8443/data${name}>; rel="duplicate"; pri=2; depth=1, <https://a:8443${name}>; rel="duplicate"; pri=1; depth=1`,
      Location: `https://a:8443${name}?authz=secret`,
      'X-Pelican-Namespace': `namespace=${namespace}, require-token=true, collections-url=https://origin:8443`,
      'X-Pelican-Authorization': ['issuer=https://issuer-1.example', 'issuer=https://issuer-2.example'],
      'X-Pelican-Token-Generation':
        'issuer=https://issuer-1.example, max-scope-depth=3, strategy=OAuth2, base-path=/ns',
    },
  };
}

const refused = (status: number, msg: string, server = 'pelican/7.27.0'): Reply => ({
  status,
  headers: { Server: server, 'Content-Type': 'application/json' },
  body: JSON.stringify({ status: 'error', msg }),
});

const isFault = (kind: FaultKind, message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof Fault, String(error));
  assert.equal(error.kind, kind);
  assert.match(error.message, message);
  return true;
};

test('every header of the answer is parsed, and the query is passed on', async (t) => {
  const { ask, requests } = await director(t, (path) => found(path));
  assert.deepEqual(await ask('/ns/a%2Cb%3Bc', { query: 'skipstat&x=1' }), {
    servers: ['https://a:8443/ns/a%2Cb%3Bc', 'https://b:8443/data/ns/a%2Cb%3Bc'],
    namespace: '/ns',
    requireToken: true,
    collectionsUrl: 'https://origin:8443/',
    issuers: ['https://issuer-1.example', 'https://issuer-2.example'],
    generation: {
      issuer: 'https://issuer-1.example',
      basePath: '/ns',
      maxScopeDepth: 3,
      strategy: 'OAuth2',
    },
  });
  assert.equal(requests[0]?.url, '/ns/a%2Cb%3Bc?skipstat&x=1');
  assert.equal(requests[0].headers.authorization, undefined);
});

test('without a Link the Location is used, without the token in it; uploads ask with PUT', async (t) => {
  const { ask, requests } = await director(t, (path) => ({
    status: 307,
    headers: { Location: `https://o:8443${path}?authz=secret&pelican.timeout=9s` },
  }));
  const answer = await ask('/ns/x', { verb: 'PUT' });
  assert.deepEqual(answer, {
    servers: ['https://o:8443/ns/x?pelican.timeout=9s'],
    requireToken: false,
    issuers: [],
  });
  assert.equal(requests[0]?.method, 'PUT');
});

test('one answer serves the namespace for five minutes; fresh asks anyway', async (t) => {
  const { ask, clock, requests } = await director(t, (path) => found(path));
  await ask('/ns/d/a');
  assert.deepEqual((await ask('/ns/other/b%2C')).servers, [
    'https://a:8443/ns/other/b%2C',
    'https://b:8443/data/ns/other/b%2C',
  ]);
  assert.equal(requests.length, 1);
  await ask('/ns/d/a', { fresh: true });
  assert.equal(requests.length, 2);
  clock.advance(6 * 60_000);
  await ask('/ns/d/a');
  assert.equal(requests.length, 3);
  await ask('/nsx/a');
  assert.equal(requests.length, 4, 'a longer name is not below the namespace');
});

test('many files of a folder at once need one request', async (t) => {
  const { ask, requests } = await director(t, (path) => found(path));
  const answers = await Promise.all(Array.from({ length: 20 }, (_, i) => ask(`/ns/d/${i}`)));
  assert.equal(requests.length, 1);
  assert.equal(answers[19]?.servers[0], 'https://a:8443/ns/d/19');
});

test("another object's 404 does not make ours missing", async (t) => {
  const { ask } = await director(t, (path) =>
    path === '/ns/gone' ? refused(404, 'No sources reported possession of the object') : found(path),
  );
  const [gone, here] = await Promise.allSettled([ask('/ns/gone'), ask('/ns/here')]);
  assert.equal(gone.status, 'rejected');
  assert.equal(here.status, 'fulfilled');
});

test("resets, 5xx, a proxy's 404 and a starting director are retried", async (t) => {
  const replies: (Reply | 'reset')[] = [
    'reset',
    refused(404, '<h1>no backend</h1>', 'nginx'),
    refused(502, '', 'nginx'),
    { ...refused(429, 'director just restarted'), headers: { 'Retry-After': '45', Server: 'pelican/7' } },
    refused(500, 'Failed to get/sort server ads'),
  ];
  const { ask, clock } = await director(t, (path, count) => replies[count - 1] ?? found(path));
  // The last failure comes after the usual timeout, because the director itself asked for longer waits.
  await assert.rejects(ask('/ns/x'), isFault('director-unreachable', /answers 500/));
  assert.ok(clock.slept.includes(45_000), String(clock.slept));
  assert.equal((await ask('/ns/x')).servers.length, 2);
});

test('callers that wait for a director are notified until when, and why', async (t) => {
  const busy = { ...refused(429, 'director just restarted'), headers: { 'Retry-After': '45' } };
  const { ask, clock } = await director(t, (path, count) => (count === 1 ? busy : found(path)));
  const heard: string[] = [];
  const hear = (name: string) => ({
    onWait: (until: number, { message }: Error) => {
      heard.push(name);
      assert.equal(until, clock.now() + 45_000);
      assert.match(message, /has just started/);
    },
  });
  await Promise.all([ask('/ns/x', hear('first')), ask('/ns/x', hear('second'))]);
  assert.deepEqual(heard, ['first', 'second']);
});

test("a director's final answer is not asked for twice", async (t) => {
  const cases: [Reply, FaultKind, RegExp, 'GET' | 'PUT'][] = [
    [
      refused(404, 'No sources found for the requested path: Request ID: 1'),
      'object-missing',
      /\/ns\/a b is not in the federation.*No sources found/,
      'GET',
    ],
    [
      refused(404, 'No caches can fulfill this request and no fallback origins'),
      'servers-unreachable',
      /no cache can serve/,
      'GET',
    ],
    [
      refused(405, 'Discovered sources for the namespace, but none support the request'),
      'url-invalid',
      /does not allow uploads/,
      'PUT',
    ],
    [refused(405, 'none support the request'), 'servers-unreachable', /no origin/, 'GET'],
    [refused(403, 'no'), 'token-refused', /refused/, 'GET'],
    [refused(400, 'Failed to validate incoming request'), 'url-invalid', /does not understand/, 'GET'],
  ];
  for (const [reply, kind, message, verb] of cases) {
    const { ask, requests } = await director(t, () => reply);
    await assert.rejects(ask('/ns/a%20b', { verb }), isFault(kind, message));
    assert.equal(requests.length, 1);
  }
});

test('an unusable answer is reported as such', async (t) => {
  const nonsense: Reply[] = [
    { status: 307 },
    { status: 307, headers: { Link: 'none; pri=1', Location: 'nowhere' } },
    { status: 302, headers: { Location: 'ftp://x/' } },
    { status: 200, body: '<html>login</html>' },
  ];
  for (const reply of nonsense) {
    const { ask } = await director(t, () => reply);
    await assert.rejects(ask('/ns/x'), isFault('director-unreachable', /unusable answer/));
  }
});

test('an unusable answer that does not persist costs one more request', async (t) => {
  const { ask } = await director(t, (path, count) => (count === 1 ? { status: 307 } : found(path)));
  assert.equal((await ask('/ns/x')).servers[0], 'https://a:8443/ns/x');
});

test('while the director is down its last answer is used, after a short wait', async (t) => {
  const { ask, clock } = await director(t, (path, count) => (count === 1 ? found(path) : 'reset'));
  await ask('/ns/x');
  clock.advance(60 * 60_000);
  const start = clock.monotonic();
  assert.deepEqual((await ask('/ns/y')).servers[0], 'https://a:8443/ns/y');
  assert.deepEqual((await ask('/ns/y', { fresh: true })).servers[0], 'https://a:8443/ns/y');
  assert.ok(clock.monotonic() - start < 10_000);
  await assert.rejects(ask('/elsewhere/y'), isFault('director-unreachable', /broke the connection/));
});

test('servers whose URLs do not end in the path are not inferred for another object', async (t) => {
  const { ask, requests } = await director(t, (path) => ({
    status: 307,
    headers: {
      Link: `<https://a/by-hash/${requests.length}>; pri=1`,
      'X-Pelican-Namespace': 'namespace=/ns, require-token=false',
    },
    body: path,
  }));
  await ask('/ns/x');
  assert.deepEqual((await ask('/ns/y')).servers, ['https://a/by-hash/2']);
});

test('an abort ends the wait at once', async (t) => {
  const stop = new AbortController();
  const { ask } = await director(t, () => (stop.abort(new Error('enough')), 'reset'));
  await assert.rejects(ask('/ns/x', { signal: stop.signal }), /enough/);
});
