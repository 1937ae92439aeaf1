import assert from 'node:assert/strict';
import type { ServerResponse } from 'node:http';
import { test, type TestContext } from 'node:test';
import { testFederation } from '../../../test/federation/origin-server.ts';
import type { Clock } from '@updraft/base';
import { ConnectionPool } from '../http/connections.ts';
import type { Located } from './located.ts';
import { hasPrestage, prestage } from './prestage.ts';

async function cache(t: TestContext, answer: (response: ServerResponse) => void, queue?: number) {
  const { federation, asked, clock } = await testFederation(t, [
    ({ url }, response) => (url.includes('?path=') ? answer(response) : response.writeHead(400).end()),
  ]);
  const located = await federation.locate('osdf:///ns/x');
  const [server] = located.servers;
  assert.ok(server);
  const offsets: number[] = [];
  const inQueue = Promise.withResolvers<number>();
  const on = {
    offset: (bytes: number) => offsets.push(bytes),
    queued(until: number) {
      inQueue.resolve(until - clock.now());
      clock.advance(queue ?? 0);
    },
  };
  // While in the queue, the limit for a silent cache applies as soon as the object is queued.
  const sleep: Clock['sleep'] = async (ms, signal) => {
    if (queue === undefined || ms !== 100_000) await clock.sleep(ms, signal);
    else await inQueue.promise;
  };
  const wire = new ConnectionPool({ clock: { ...clock, sleep }, ca: federation.ca });
  t.after(() => wire.close());
  return {
    offsets,
    inQueue: inQueue.promise,
    asked: asked[0] ?? [],
    has: () => hasPrestage(located, server, { federation }),
    fill: (own: Partial<Located> = {}) =>
      prestage({ ...located, ...own }, server, '/ns/a b', { federation: { ...federation, wire } }, on),
  };
}

test("a place in a cache's queue is reported, and waited for up to a quarter of an hour", async (t) => {
  const wait = (response: ServerResponse): void => void response.write('status: queued\n'.repeat(3));
  const { fill, inQueue } = await cache(t, wait, 15 * 60_000);
  await assert.rejects(fill(), { kind: 'servers-unreachable', message: /in its queue for 15 minutes/ });
  assert.equal(await inQueue, 15 * 60_000);
  const silent = await cache(t, wait, 60_000);
  await assert.rejects(silent.fill(), { message: /fetches nothing within 100 s/ });
});

test('a cache is asked to fetch, and its lines report the progress', async (t) => {
  const { has, fill, offsets, asked } = await cache(t, (response) => {
    response.write('status: queued\nstatus: active,off');
    response.end('set=10\nstatus: active,offset=10\nstatus: active,offset=25\nsuccess: ok\n');
  });
  assert.equal(await has(), true);
  await fill();
  assert.deepEqual(offsets, [10, 25]);
  assert.equal(asked[1]?.url, '/pelican/api/v1.0/prestage?path=%2Fns%2Fa+b');
});

test("whatever keeps a cache from fetching becomes a fault of the right kind, with the cache's text", async (t) => {
  const said = (text: string) => (response: ServerResponse) => response.end(text);
  const cases: [(response: ServerResponse) => void, object][] = [
    [
      said('status: queued\nfailure: 500(Internal Server Error): block 1 not yet downloaded\n'),
      { kind: 'servers-unreachable', message: /could not fetch it: block 1 not yet downloaded/ },
    ],
    [said('failure: 404(Not Found): gone'), { kind: 'object-missing', message: /could not fetch it: gone/ }],
    [
      said(`failure: 200(OK): ${'x'.repeat(1 << 14)}\n`),
      { kind: 'transfer-failed', message: /could not fetch it: x{200,300}$/ },
    ],
    [
      said('status: active,offset=3\n'),
      { kind: 'servers-unreachable', message: /does not end|could not fetch/ },
    ],
    [(response) => response.writeHead(403).end(), { kind: 'token-refused' }],
    [
      (response) => response.writeHead(429, { 'Retry-After': '7' }).end(),
      { kind: 'servers-unreachable', retryAfterSeconds: 7 },
    ],
    [(response) => response.destroy(), { kind: 'servers-unreachable' }],
  ];
  for (const [answer, fault] of cases) await assert.rejects((await cache(t, answer)).fill(), fault);
});

test('a cache without the interface is recognized by its answer', async (t) => {
  const { federation } = await testFederation(t, [(_, response) => response.writeHead(404).end()]);
  const located = await federation.locate('osdf:///ns/x');
  const [server] = located.servers;
  assert.ok(server);
  assert.equal(await hasPrestage(located, server, { federation }), false);
});

test('a cache that refuses a token is asked once more with the newer one', async (t) => {
  const isGood = (response: ServerResponse): boolean => response.req.headers.authorization === 'Bearer new';
  const { fill, asked } = await cache(t, (response) =>
    isGood(response)
      ? response.end('success: ok\n')
      : response.writeHead(401, { 'WWW-Authenticate': 'Bearer error="invalid_token"' }).end(),
  );
  const tokens = (renewed: string) => (_: unknown, refused?: string) =>
    Promise.resolve({ Authorization: `Bearer ${refused === 'Bearer old' ? renewed : 'old'}` });
  await fill({ headers: tokens('new') });
  assert.equal(asked.length, 2);
  await assert.rejects(fill({ headers: tokens('old') }), { kind: 'token-expired' });
});
