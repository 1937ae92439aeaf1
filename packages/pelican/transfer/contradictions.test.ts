import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { type Clock, systemClock } from '@updraft/base';
import { fastClock } from '../../../test/fast-clock.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import {
  locatorOf,
  objectBytes,
  serveObject,
  sha256,
  type Exchange,
  type RunningServer,
  type ServerOptions,
} from '../../../test/transfer/object-server.ts';
import { fetchToFile } from './fetch-to-file.ts';
import type { FetchEvent } from './fetch.ts';

const url = 'osdf:///ns/data.bin';
const mebibyte = 1 << 20;
const fast = fastClock(10);
const modified = 'Mon, 16 Nov 2026 00:00:00 GMT';
const hot = { Age: '60', 'Last-Modified': modified };
const digestOf = (bytes: Buffer) => ({
  Digest: `sha-256=${Buffer.from(sha256(bytes), 'hex').toString('base64')}`,
});

/** Fetches from these caches; the origin is asked for facts, and for bytes if no cache can send them. */
async function get(t: TestContext, caches: ServerOptions[], origin?: ServerOptions, clock: Clock = fast) {
  const target = path.join(await temporaryFolder(t), 'data.bin');
  const servers: RunningServer[] = [];
  for (const each of caches) servers.push(await serveObject(t, each));
  const lister = origin && (await serveObject(t, { kind: 'origin', ...origin }));
  const setbacks: string[] = [];
  const onEvent = (event: FetchEvent): void => {
    if (event.kind === 'setback') setbacks.push(`${event.server}: ${event.fault.message}`);
  };
  const locator = locatorOf(servers.length > 0 ? servers : [lister!], lister && { lister, direct: [lister] });
  const began = clock.monotonic();
  const limits = { laps: 4, stallSeconds: 5 };
  const outcome = await fetchToFile(url, target, { locator, clock, onEvent, limits }).catch(
    (error: unknown) => error as Error,
  );
  const seconds = (clock.monotonic() - began) / 1000;
  const bytes = existsSync(target) ? readFileSync(target) : undefined;
  const failed = outcome instanceof Error ? outcome : undefined;
  const result = outcome instanceof Error ? undefined : outcome;
  return {
    servers,
    setbacks,
    seconds,
    bytes,
    failed,
    result,
    hosts: servers.map(({ server }) => server.host),
  };
}

const gets = ({ seen }: RunningServer) => seen.filter(({ method }) => method === 'GET').length;
const bytes = objectBytes(3 * mebibyte);
const short = bytes.subarray(0, bytes.length - 1000);
const says = (size: number) => ({ propfind: { size, modified } });
const right = { bytes, headers: hot };

test("a cache whose size differs from the origin's is dropped, whether or not another is asked", async (t) => {
  const got = await get(t, [{ bytes: short, headers: hot }, right, right], { bytes, ...says(bytes.length) });
  assert.ok(got.bytes?.equals(bytes), got.failed?.message);
  assert.equal(got.result?.verified, 'size');
});

test('if the origin is wrong about the size and its own answer shows it, the bytes still come quickly', async (t) => {
  const got = await get(t, [right, right], { bytes, headers: hot, ...says(bytes.length - 1000) });
  assert.ok(got.bytes?.equals(bytes), got.failed?.message);
});

test('if the origin says nothing, sizes on which two servers disagree are refused', async (t) => {
  const big = objectBytes(48 * mebibyte);
  const cut = { bytes: big.subarray(0, 47 * mebibyte), headers: hot };
  const two = await get(t, [cut, { bytes: big, headers: hot }]);
  assert.ok(two.bytes === undefined);
  assert.match(two.failed?.message ?? '', /different sizes of it \(.*: 49283072 bytes; .*: 50331648 bytes\)/);
  const three = await get(t, [cut, { bytes: big, headers: hot }, { bytes: big, headers: hot }]);
  assert.ok(three.bytes?.equals(big), three.failed?.message);
});

test('what a busy cache says about the size changes nothing once another has sent a length', async (t) => {
  const busy = { bytes, get: (e: Exchange) => e.answer({ status: 503 }) };
  const plain: ServerOptions = { bytes, head: (_request, response) => void response.writeHead(403).end() };
  for (const size of [bytes.length - 1000, bytes.length + 1000]) {
    const got = await get(t, [{ ...busy, ...says(size) }, plain]);
    assert.ok(got.bytes?.equals(bytes), `${got.bytes?.length} bytes; ${got.failed?.message}`);
  }
});

test('a server that sent one wrong byte is asked again if the others are down', async (t) => {
  const flipped = Buffer.from(bytes);
  flipped[mebibyte] = (flipped[mebibyte] ?? 0) ^ 1;
  const proof = { ...hot, ...digestOf(bytes) };
  const once = {
    bytes,
    headers: proof,
    get: (e: Exchange) => (e.nth > 1 ? e.answer({}) : void e.response.writeHead(200, proof).end(flipped)),
  };
  const got = await get(t, [once, { bytes, get: (e: Exchange) => e.answer({ status: 503 }) }]);
  assert.ok(got.bytes?.equals(bytes), got.failed?.message);
  assert.equal(got.result?.verified, 'digest');
});

test('a wrong total in one answer of a cache is its own fault, and the others continue', async (t) => {
  const big = objectBytes(48 * mebibyte);
  const wrong = (e: Exchange): void => {
    const total = { 'Content-Range': `bytes ${e.from}-${big.length - 1}/${big.length + 5}` };
    e.answer(e.request.headers.range === undefined ? {} : { headers: total });
  };
  for (const origin of [undefined, { bytes: big, ...says(big.length) }]) {
    const got = await get(
      t,
      [
        { bytes: big, headers: hot, get: wrong },
        { bytes: big, headers: hot },
      ],
      origin,
    );
    assert.ok(got.bytes?.equals(big), got.failed?.message);
  }
});

test('a brief 404 of the origin, while it lists the object, is retried', async (t) => {
  const origin = {
    bytes,
    ...says(bytes.length),
    get: (e: Exchange) => e.answer(e.nth < 3 ? { status: 404 } : {}),
  };
  const got = await get(t, [], origin);
  assert.ok(got.bytes?.equals(bytes), got.failed?.message);
});

test('a digest that never comes is waited for a few seconds, and another server is asked', async (t) => {
  const hangs = { bytes, headers: hot, head: () => undefined };
  const proven = await get(t, [hangs, { bytes, headers: { ...hot, ...digestOf(bytes) } }]);
  assert.equal(proven.result?.verified, 'digest');
  assert.ok(proven.seconds < 12, `${proven.seconds} s`);
  const none = await get(t, [hangs, hangs, right]);
  assert.equal(none.result?.verified, 'size');
  assert.ok(none.seconds < 15, `${none.seconds} s`);
});

test('complete bytes that are withdrawn are judged by their digest, and fetched again only without one', async (t) => {
  const ends = (status: string, more: Partial<ServerOptions> = {}): ServerOptions => ({
    bytes,
    headers: { ETag: '"a"' },
    get: ({ response }) => {
      response.writeHead(200, { ETag: '"a"', Trailer: 'X-Transfer-Status' });
      response.write(bytes);
      response.addTrailers({ 'X-Transfer-Status': status });
      response.end();
    },
    ...more,
  });
  const other = { bytes, headers: { ETag: '"a"' } };
  const proof = { ETag: '"a"', ...digestOf(bytes) };
  const late = '500: download cancelled: idle timeout';
  for (const [first, verified, again] of [
    [ends('500: read error', { headers: proof }), 'digest', 0],
    [ends(late), 'size', 0],
    [ends('500: read error'), 'size', 1],
  ] as const) {
    const got = await get(t, [first, other]);
    assert.deepEqual([got.result?.verified, gets(got.servers[1]!)], [verified, again]);
    assert.ok(got.seconds < 10, `${got.seconds} s`);
  }
});

test('an answer whose last byte is here is not waited for', async (t) => {
  const open: ServerOptions = {
    bytes,
    get: ({ response }) => {
      response.writeHead(200, { ETag: '"a"', Trailer: 'X-Transfer-Status' });
      response.write(bytes);
    },
  };
  const got = await get(t, [open, right]);
  assert.ok(got.bytes?.equals(bytes));
  assert.deepEqual([got.setbacks, gets(got.servers[1]!)], [[], 0]);
  assert.ok(got.seconds < 6, `${got.seconds} s`);
});

test('a cache that appends bytes is not believed alone if nobody has a digest and no origin answers', async (t) => {
  const longer = { bytes: Buffer.concat([bytes, Buffer.alloc(100)]), headers: hot };
  const two = await get(t, [longer, right]);
  assert.ok(two.bytes === undefined, 'one server decided');
  assert.match(two.failed?.message ?? '', /different sizes of it/);
  const three = await get(t, [longer, right, right]);
  assert.ok(three.bytes?.equals(bytes), three.failed?.message);
});

test('servers that ignore ranges send the object once', async (t) => {
  const big = objectBytes(64 * mebibyte);
  const whole: ServerOptions = {
    bytes: big,
    headers: hot,
    get: ({ response }) => {
      response.writeHead(200, { ...hot, 'Content-Length': String(big.length) });
      response.end(big);
    },
  };
  const got = await get(t, [whole, whole, whole]);
  assert.ok(got.bytes?.equals(big), got.failed?.message);
  assert.ok(got.servers.reduce((sum, each) => sum + gets(each), 0) <= 3);
});

test('a lone cache that appends bytes is refused if the origin says the size, in a listing or to HEAD', async (t) => {
  const longer = { bytes: Buffer.concat([bytes, Buffer.alloc(700)]), headers: hot };
  for (const origin of [
    { bytes, ...says(bytes.length), get: (e: Exchange) => e.answer({ status: 503 }) },
    { bytes, get: (e: Exchange) => e.answer({ status: 503 }) },
  ]) {
    const got = await get(t, [longer], origin);
    assert.ok(got.bytes === undefined, 'more bytes than the origin has');
    assert.match(got.failed?.message ?? '', new RegExp(`${got.hosts[0]}.* ${longer.bytes.length} bytes`));
  }
});

test('a server that refuses ranges is asked for the whole object', async (t) => {
  const refuses = (status: number): ServerOptions => ({
    ...right,
    get: (e) => {
      if (e.request.headers.range !== undefined)
        e.answer({ status, body: Buffer.alloc(0), headers: { 'Content-Range': '' } });
      else if (e.nth === 1) e.begin(mebibyte, () => e.request.socket.destroy());
      else e.answer();
    },
  });
  for (const status of [400, 416, 501]) {
    const got = await get(t, [refuses(status)]);
    assert.ok(got.bytes?.equals(bytes), `${status}: ${got.failed?.message}`);
  }
});

test('a cache that encodes what it sends does not decide the size', async (t) => {
  const encoded = { bytes: bytes.subarray(0, 1000), headers: { ...hot, 'Content-Encoding': 'gzip' } };
  const got = await get(t, [encoded, right]);
  assert.ok(got.bytes?.equals(bytes), got.failed?.message);
});

test('an encoded answer is refused by its head: neither its body nor the origin is waited for', async (t) => {
  const encoded: ServerOptions = {
    bytes,
    get: ({ response }) => {
      response.writeHead(200, { 'Content-Encoding': 'gzip' });
      response.write(bytes.subarray(0, 1000));
    },
  };
  const lister = { bytes, propfind: { hangs: true as const } };
  // In real seconds: on a busy machine, those of a faster clock are over before the answer of the other is read.
  const got = await get(
    t,
    [encoded, { bytes, headers: { ...hot, ...digestOf(bytes) } }],
    lister,
    systemClock,
  );
  assert.ok(got.bytes?.equals(bytes), got.failed?.message);
  assert.match(got.setbacks[0] ?? '', /encoded as "gzip"/);
  assert.equal(gets(got.servers[0]!), 1);
  assert.ok(got.seconds < 2, `${got.seconds} s`);
});

test('a HEAD that hangs at the only server costs two seconds, not a minute', async (t) => {
  const got = await get(t, [{ ...right, head: () => undefined }]);
  assert.equal(got.result?.verified, 'size');
  assert.ok(got.seconds < 4, `${got.seconds} s`);
});

test('of an answer without a length that was cut, the rest is fetched, and no zeros are in its place', async (t) => {
  const etag = { ETag: '"e"' };
  const cut = {
    bytes,
    get: ({ response }: Exchange) => {
      // Such an answer ends with its connection, whoever cut it.
      response.useChunkedEncodingByDefault = false;
      response.writeHead(200, { ...etag, Connection: 'close' }).end(bytes.subarray(0, mebibyte));
    },
    head: (_request: unknown, response: Exchange['response']) => void response.writeHead(405).end(),
  };
  const got = await get(t, [cut], { bytes, headers: etag, ...says(bytes.length) });
  assert.ok(got.bytes?.equals(bytes), got.failed?.message);
});
