import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { jumpingClock } from '../../../test/federation/jumping-clock.ts';
import { signedToken } from '../../../test/federation/signed-token.ts';
import { testAuthority, webServer } from '../../../test/federation/web-server.ts';
import { Fault, type FaultKind } from '../fault.ts';
import { preferCaches } from './cache-choice.ts';
import type { ObjectServer } from './located.ts';
import { createLocator } from './locator.ts';

const uid = 4_000_000_002;
const token = signedToken({ iss: 'https://issuer.example', scope: 'storage.read:/ storage.create:/' });

interface Shape {
  requireToken?: boolean;
  /** Servers by URL without the object's path, as the director names them. */
  servers?: string[];
  collections?: string;
  env?: Record<string, string>;
  plain?: boolean;
}

/** Discovery and director on one port, and a locator that reaches nothing else. */
async function federation(t: TestContext, shape: Shape = {}) {
  const cwd = await mkdtemp(path.join(os.tmpdir(), 'updraft-locator-'));
  t.after(() => rm(cwd, { recursive: true }));
  const clock = jumpingClock();
  const director = await webServer(
    t,
    ({ url }, response) => {
      if (url.startsWith('/.well-known/'))
        return response.end(JSON.stringify({ director_endpoint: director.url }));
      const [name = ''] = url.split('?');
      const servers = shape.servers ?? ['https://cache-1:8443', 'https://cache-2:8443'];
      const collections = shape.collections === undefined ? '' : `, collections-url=${shape.collections}`;
      const headers = {
        Server: 'pelican/7.27.0',
        Link: servers
          .map((server, i) => `<${server}${name}>; rel="duplicate"; pri=${i + 1}; depth=1`)
          .join(', '),
        'X-Pelican-Namespace': `namespace=/ns, require-token=${shape.requireToken === true}${collections}`,
        'X-Pelican-Authorization': 'issuer=https://issuer.example',
      };
      return response.writeHead(307, headers).end();
    },
    { plain: shape.plain ?? false },
  );
  const env = { SSL_CERT_FILE: testAuthority, UPDRAFT_OSDF_HOST: director.host, ...shape.env };
  const locator = createLocator({ env, cwd, uid, clock, version: '1.2.3' });
  return {
    director,
    locator,
    cwd,
    questions: () => director.requests.filter(({ url }) => !url.startsWith('/.well')),
  };
}

const isFault = (kind: FaultKind) => (error: unknown) => error instanceof Fault && error.kind === kind;

test('an osdf object is located at all its caches, through discovery and director', async (t) => {
  const { locator, director, questions } = await federation(t, { collections: 'https://origin:8443' });
  const located = await locator.locate('osdf:///ns/a,b;c.tar?recursive');
  assert.equal(located.url, 'osdf:///ns/a,b;c.tar?recursive');
  assert.deepEqual(located.servers, [
    { url: 'https://cache-1:8443/ns/a%2Cb%3Bc.tar', host: 'cache-1:8443', kind: 'cache' },
    { url: 'https://cache-2:8443/ns/a%2Cb%3Bc.tar', host: 'cache-2:8443', kind: 'cache' },
  ]);
  assert.deepEqual(
    [located.namespace, located.requireToken, located.collectionsUrl],
    ['/ns', false, 'https://origin:8443/ns/a%2Cb%3Bc.tar'],
  );
  assert.deepEqual(
    questions().map(({ method, url }) => `${method} ${url}`),
    ['GET /ns/a%2Cb%3Bc.tar'],
  );
  const same = await locator.locate(`pelican://${director.host}/ns/other`);
  assert.equal(same.servers[0]?.url, 'https://cache-1:8443/ns/other');
  assert.ok((locator.ca ?? []).length > 50);
});

test('data requests identify the client, and carry no token to a public namespace', async (t) => {
  const env = { BEARER_TOKEN: token, _CONDOR_JOB_AD: 'job.ad' };
  const { locator, cwd, director } = await federation(t, { env });
  const server = (await locator.locate('osdf:///ns/x')).servers[0]!;
  const outside = await (await locator.locate('osdf:///ns/x')).headers(server);
  assert.match(outside['X-Pelican-JobId'] ?? '', /^[0-9a-f-]{36}$/);
  await writeFile(
    path.join(cwd, 'job.ad'),
    'ProjectName = "My Project"\nGlobalJobId = "ap.example#12.3#1700000000"\n',
  );
  const jobEnv = {
    ...env,
    SSL_CERT_FILE: testAuthority,
    UPDRAFT_OSDF_HOST: director.host,
    _CONDOR_JOB_AD: path.join(cwd, 'job.ad'),
  };
  const inJob = createLocator({ env: jobEnv, cwd, uid, clock: jumpingClock(), version: '1.2.3' });
  assert.deepEqual(await (await inJob.locate('osdf:///ns/x')).headers(server), {
    'User-Agent': 'updraft/1.2.3 project/My_Project',
    'X-Pelican-JobId': 'ap.example#12.3#1700000000',
    'X-Pelican-Timeout': '9.5s',
  });
});

test('a protected namespace gets the token at its own https servers and nowhere else', async (t) => {
  const servers = ['https://cache-1:8443', 'http://cache-2:8000'];
  const { locator, questions } = await federation(t, {
    requireToken: true,
    servers,
    collections: 'https://origin:8443',
    env: { BEARER_TOKEN: token },
  });
  const located = await locator.locate('osdf:///ns/x');
  assert.deepEqual(
    located.servers.map(({ host }) => host),
    ['cache-1:8443'],
    'plain http is no place for it',
  );
  const sentTo = async (url: string): Promise<string | undefined> =>
    (await located.headers({ url, host: new URL(url).host, kind: 'cache' }))['Authorization'];
  assert.equal(await sentTo('https://cache-1:8443/ns/x'), `Bearer ${token}`);
  assert.equal(
    await sentTo('https://origin:8443/ns/x'),
    `Bearer ${token}`,
    'the lister is named by the director too',
  );
  for (const url of [
    'https://cache-1:9999/ns/x',
    'https://elsewhere.example/ns/x',
    'http://cache-1:8443/ns/x',
    'http://cache-2:8000/ns/x',
  ])
    assert.equal(await sentTo(url), undefined, url);
  assert.deepEqual(
    questions().map(({ headers }) => headers.authorization),
    [undefined, `Bearer ${token}`],
    'the director learns it only when it must',
  );
});

test('a protected namespace can be located without a token, but not read', async (t) => {
  const { locator } = await federation(t, { requireToken: true });
  const located = await locator.locate('osdf:///ns/x');
  assert.equal(located.requireToken, true);
  await assert.rejects(located.headers(located.servers[0]!), isFault('token-missing'));
});

test('a token that is renewed during a transfer is used from the next request on', async (t) => {
  const { locator, cwd } = await federation(t, { requireToken: true, env: { BEARER_TOKEN_FILE: 'bearer' } });
  await writeFile(path.join(cwd, 'bearer'), token);
  const located = await locator.locate('osdf:///ns/x');
  assert.equal((await located.headers(located.servers[0]!))['Authorization'], `Bearer ${token}`);
  const renewed = signedToken({ iss: 'https://issuer.example', scope: 'storage.read:/', jti: 'renewed' });
  await writeFile(path.join(cwd, 'bearer'), renewed);
  assert.equal((await located.headers(located.servers[0]!))['Authorization'], `Bearer ${renewed}`);
});

test('direct asks for origins; uploads ask with PUT and carry a token if there is one', async (t) => {
  const { locator, questions } = await federation(t, { env: { BEARER_TOKEN: token } });
  const direct = await locator.locate('osdf:///ns/x?prefercached&skipstat', { direct: true });
  assert.equal(direct.servers[0]?.kind, 'origin');
  assert.equal(questions().at(-1)?.url, '/ns/x?directread&skipstat');
  const upload = await locator.locate('osdf:///ns/x', { verb: 'PUT' });
  assert.equal(questions().at(-1)?.method, 'PUT');
  const headers = await upload.headers(upload.servers[0]!);
  assert.deepEqual([headers['Authorization'], headers['TE']], [`Bearer ${token}`, undefined]);
  const without = await federation(t);
  const anonymous = await without.locator.locate('osdf:///ns/x', { verb: 'PUT' });
  assert.equal((await anonymous.headers(anonymous.servers[0]!))['Authorization'], undefined);
  // A file that was named is used, even if a token might not be needed.
  const named = await without.locator.locate('osdf:///ns/x', { verb: 'PUT', tokenFile: '/none/such' });
  await assert.rejects(named.headers(named.servers[0]!), isFault('token-missing'));
});

test('a protected namespace served over plain http only is refused', async (t) => {
  const { locator } = await federation(t, { requireToken: true, servers: ['http://cache:8000'] });
  await assert.rejects(locator.locate('osdf:///ns/x'), isFault('servers-unreachable'));
});

test('a loopback federation without TLS works, with tokens, if the variable allows it', async (t) => {
  const env = { UPDRAFT_FEDERATION_HTTP: '1', BEARER_TOKEN: token };
  const { locator } = await federation(t, {
    plain: true,
    requireToken: true,
    servers: ['http://127.0.0.1:8000'],
    env,
  });
  const located = await locator.locate('osdf:///ns/x');
  assert.equal((await located.headers(located.servers[0]!))['Authorization'], `Bearer ${token}`);
});

test('a federation of one server serves its objects itself', async (t) => {
  const server = await webServer(t, ({ url }, response) => {
    if (url.startsWith('/.well-known/')) return response.end(JSON.stringify({ discovery_endpoint: 'x' }));
    const headers = {
      'X-Pelican-Namespace': 'namespace=/ns, require-token=true',
      'X-Pelican-Authorization': `issuer=${server.url}/issuer`,
    };
    return response.writeHead(403, headers).end();
  });
  const token = signedToken({ iss: `${server.url}/issuer` });
  const locator = createLocator({
    env: { SSL_CERT_FILE: testAuthority, BEARER_TOKEN: token },
    cwd: '/',
    uid,
    clock: jumpingClock(),
    version: '1',
  });
  const located = await locator.locate(`pelican://${server.host}/ns/x`);
  assert.deepEqual(located.servers, [{ url: `${server.url}/ns/x`, host: server.host, kind: 'origin' }]);
  assert.equal((await located.headers(located.servers[0]!))['Authorization'], `Bearer ${token}`);
});

test('plain web servers and files are located without any request', async (t) => {
  const { locator, cwd, questions } = await federation(t, { env: { BEARER_TOKEN: token } });
  const plain = await locator.locate('https://example.org:8080/x?y=1');
  assert.deepEqual(plain.servers, [
    { url: 'https://example.org:8080/x?y=1', host: 'example.org:8080', kind: 'plain' },
  ]);
  assert.deepEqual(
    await plain.headers(plain.servers[0]!),
    { 'User-Agent': 'updraft/1.2.3' },
    'no token unless the user says which',
  );
  await writeFile(path.join(cwd, 'mine'), token);
  const mine = await locator.locate('https://example.org/x', { tokenFile: 'mine' });
  assert.equal((await mine.headers(mine.servers[0]!))['Authorization'], `Bearer ${token}`);
  const insecure = await locator.locate('http://example.org/x', { tokenFile: 'mine' });
  assert.equal((await insecure.headers(insecure.servers[0]!))['Authorization'], undefined);
  const named = await locator.locate('box+https://example.org/x');
  await assert.rejects(
    named.headers(named.servers[0]!),
    isFault('token-missing'),
    'another token must not go there instead',
  );
  const file = await locator.locate('file:///data/a b.tar');
  assert.deepEqual(file.servers, [{ url: 'file:///data/a%20b.tar', host: 'localhost', kind: 'plain' }]);
  assert.deepEqual(questions(), []);
});

test('a token goes to a preferred cache named for the object, never to one from the environment', async (t) => {
  const env = { BEARER_TOKEN: token, NEAREST_CACHE: 'https://thief.example:8443,+' };
  const { locator } = await federation(t, { requireToken: true, env });
  const ambient = await locator.locate('osdf:///ns/x');
  assert.deepEqual(
    ambient.servers.map(({ host }) => host),
    ['cache-1:8443', 'cache-2:8443'],
  );
  const thief: ObjectServer = {
    url: 'https://thief.example:8443/ns/x',
    host: 'thief.example:8443',
    kind: 'cache',
  };
  assert.equal((await ambient.headers(thief))['Authorization'], undefined);
  const by = { caches: '--cache', avoidCaches: '--avoid-cache' };
  const own = await preferCaches(locator, { caches: ['near.example:8443'], isForObject: true }, by).locate(
    'osdf:///ns/x',
  );
  const [near] = own.servers;
  assert.deepEqual([near?.host, near?.preferredBy], ['near.example:8443', '--cache']);
  assert.equal((await own.headers(near!))['Authorization'], `Bearer ${token}`);
  assert.equal((await own.headers(thief))['Authorization'], undefined);
});

test('if all caches are avoided the origin is asked, and uploads ignore cache preferences', async (t) => {
  const env = { UPDRAFT_AVOID_CACHES: 'cache-1,cache-2', NEAREST_CACHE: 'near.example' };
  const { locator, questions } = await federation(t, { env });
  const by = { caches: '--cache', avoidCaches: '--avoid-cache' };
  assert.deepEqual((await locator.locate('osdf:///ns/x', { verb: 'PUT' })).servers.length, 2);
  // The director of this test names the same servers for everything.
  await assert.rejects(
    preferCaches(locator, { caches: ['cache-1'], isForObject: true }, by).locate('osdf:///ns/x'),
    {
      kind: 'servers-unreachable',
      message: /cache-1:8443 is to be avoided \(UPDRAFT_AVOID_CACHES\); cache-2:8443/,
      fix: 'avoid fewer caches',
    },
  );
  assert.ok(questions().some(({ url }) => url === '/ns/x?directread'));
  assert.equal((await locator.locate('osdf:///ns/x')).onlyBy, 'NEAREST_CACHE');
});
