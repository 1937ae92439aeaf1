import assert from 'node:assert/strict';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
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
import { Fault } from '../fault.ts';
import { fetchToFile } from './fetch-to-file.ts';
import type { FetchEvent, FetchOptions } from './fetch.ts';
import { PartFile } from './sinks/part-file.ts';

const url = 'osdf:///ns/data.bin';
const mebibyte = 1 << 20;
const clock = fastClock(10);
const hot = { Age: '60', 'Last-Modified': 'Mon, 16 Nov 2026 00:00:00 GMT' };

interface Got {
  servers: RunningServer[];
  setbacks: string[];
  /** Bytes that all servers sent, as a share of the object. */
  served: number;
  result: Awaited<ReturnType<typeof fetchToFile>>;
}

async function get(
  t: TestContext,
  options: ServerOptions[],
  more: Partial<FetchOptions> = {},
  direct?: RunningServer[],
): Promise<Got> {
  const target = path.join(await temporaryFolder(t), 'data.bin');
  const servers = await Promise.all(options.map((each) => serveObject(t, each)));
  const setbacks: string[] = [];
  const onEvent = (event: FetchEvent): void => {
    if (event.kind === 'setback') setbacks.push(event.fault.message);
  };
  const locator = locatorOf(servers, direct === undefined ? {} : { direct, lister: direct[0]! });
  const result = await fetchToFile(url, target, { locator, clock, onEvent, ...more });
  const served = result.servers.reduce((sum, { bytes }) => sum + bytes, 0) / result.bytes;
  return { servers, setbacks, served, result };
}

const gets = ({ seen }: RunningServer) => seen.filter(({ method }) => method === 'GET');
const digestOf = (bytes: Buffer) => ({
  Digest: `sha-256=${Buffer.from(sha256(bytes), 'hex').toString('base64')}`,
});

/** Like the answer of Pelican's cache to a miss: no length, no Age, a status at the end. */
function miss({ response, bytes }: Exchange): void {
  response.writeHead(200, { ETag: '"a"', Trailer: 'X-Transfer-Status' });
  response.write(bytes);
  response.addTrailers({ 'X-Transfer-Status': '200: OK' });
  response.end();
}

test('a cold object is requested whole, from one cache, and verified by the digest known at the end', async (t) => {
  const bytes = objectBytes(48 * mebibyte);
  let heads = 0;
  const cold: ServerOptions = {
    bytes,
    get: miss,
    head: (_, response) => {
      const late = heads++ < 2 ? {} : digestOf(bytes);
      response.writeHead(200, { 'Content-Length': bytes.length, ...late }).end();
    },
  };
  const { servers, result, served } = await get(t, [cold, { bytes, headers: hot }]);
  assert.deepEqual(
    gets(servers[0]!).map(({ range }) => range),
    [undefined],
  );
  assert.equal(servers[1]!.seen.length, 0);
  assert.equal(result.verified, 'digest');
  assert.equal(served, 1);
});

test('if a cache is fetching the object slowly, only the caches that have it are asked as well', async (t) => {
  const bytes = objectBytes(48 * mebibyte);
  const slow: ServerOptions = {
    bytes,
    get: ({ response }) => {
      response.writeHead(200, { 'Last-Modified': hot['Last-Modified'], 'Content-Length': bytes.length });
      let at = 0;
      const timer = setInterval(() => response.write(bytes.subarray(at, (at += 20_000))), 20);
      response.on('close', () => clearInterval(timer));
    },
  };
  const without: ServerOptions = { bytes, head: (_, response) => void response.writeHead(504).end() };
  const more = { sha256: sha256(bytes), limits: { floorBytesPerSecond: 0, stallSeconds: 600 } };
  const { servers, served } = await get(t, [slow, without, { bytes, headers: hot }], more);
  assert.deepEqual(
    servers[1]!.seen.map(({ method, headers }) => [method, headers['cache-control']]),
    [['HEAD', 'only-if-cached']],
  );
  assert.ok(gets(servers[2]!).length > 0);
  assert.equal(served, 1);
});

test('if a cache has the object, others are asked for their copies, and one without is left alone', async (t) => {
  const bytes = objectBytes(48 * mebibyte);
  const cold: ServerOptions = { bytes, get: (e) => e.answer({ status: 504, body: Buffer.from('no copy') }) };
  const options = [{ bytes, headers: hot }, cold, { bytes, headers: hot }];
  const { servers, setbacks } = await get(t, options, { sha256: sha256(bytes) });
  assert.equal(gets(servers[0]!)[0]?.headers['cache-control'], undefined);
  assert.deepEqual(
    gets(servers[1]!).map(({ headers }) => headers['cache-control']),
    ['only-if-cached'],
  );
  assert.ok(gets(servers[2]!).length > 0);
  assert.deepEqual(setbacks, []);
});

test('of three caches the one that damages its bytes is identified, and only its bytes are fetched again', async (t) => {
  const bytes = objectBytes(64 * mebibyte);
  const damaged = Buffer.from(bytes);
  for (let at = 0; at < damaged.length; at += mebibyte) damaged[at] = (damaged[at] ?? 0) ^ 1;
  const headers = { ...hot, ...digestOf(bytes) };
  const suspects = new Set<string>();
  const good: ServerOptions = { bytes, headers };
  const origin = await serveObject(t, { bytes, headers, kind: 'origin' });
  const { servers, served, result } = await get(t, [good, { bytes: damaged, headers }, good], { suspects }, [
    origin,
  ]);
  assert.equal(result.verified, 'digest');
  assert.deepEqual([...suspects], [servers[1]!.server.host]);
  const wrong = result.servers.find(({ server }) => suspects.has(server))!.bytes / bytes.length;
  assert.ok(served <= 1.05 + wrong, `${served} times the object, ${wrong} of it damaged`);
});

test('caches that withdraw everything are asked twice, then the origin; if that does the same, the fetch ends', async (t) => {
  const bytes = objectBytes(mebibyte);
  const takeBack = ({ response }: Exchange): void => {
    response.writeHead(200, { ETag: '"a"', Trailer: 'X-Transfer-Status' });
    response.write(bytes);
    response.addTrailers({ 'X-Transfer-Status': '500: read error' });
    response.end();
  };
  const bad: ServerOptions = { bytes, get: takeBack };
  const origin = await serveObject(t, { bytes, kind: 'origin' });
  const { servers, result } = await get(t, [bad, bad], {}, [origin]);
  assert.ok(result.servers.some(({ server }) => server === origin.server.host));
  for (const server of servers) assert.ok(gets(server).length <= 2);
  const broken = await serveObject(t, { bytes, kind: 'origin', get: takeBack });
  await assert.rejects(get(t, [bad, bad], {}, [broken]), { kind: 'transfer-failed', message: /read error/ });
});

test('when all caches fall silent the origin is asked within half a minute, and only for the rest', async (t) => {
  const bytes = objectBytes(4 * mebibyte);
  const silent: ServerOptions = {
    bytes,
    headers: { 'Last-Modified': hot['Last-Modified'] },
    get: (e) => (e.nth === 1 && e.from === 0 ? e.begin(mebibyte, () => undefined) : undefined),
  };
  let askedAt = Infinity;
  const origin = await serveObject(t, {
    bytes,
    kind: 'origin',
    headers: { 'Last-Modified': hot['Last-Modified'] },
    get: (e) => {
      askedAt = Math.min(askedAt, clock.monotonic());
      e.answer();
    },
  });
  const began = clock.monotonic();
  const { served, result } = await get(t, [silent, silent, silent, silent], {}, [origin]);
  assert.ok(askedAt - began <= 30_000, `asked after ${askedAt - began} ms`);
  assert.equal(served, 1);
  assert.equal(result.servers.length, 2);
});

test("if an answer has no size, lack of disk space is found from the origin's, before a byte is written", async (t) => {
  const size = 2 ** 50;
  const cache: ServerOptions = {
    bytes: objectBytes(mebibyte),
    get: miss,
    head: (_, response) => void response.writeHead(500).end(),
  };
  const origin: ServerOptions = {
    bytes: Buffer.alloc(0),
    kind: 'origin',
    propfind: { size, modified: hot['Last-Modified'] },
  };
  const write = t.mock.method(PartFile.prototype, 'write');
  const room = t.mock.method(PartFile.prototype, 'blindLimit', () => 0);
  const shortage = {
    kind: 'disk-full',
    message: /1,125,8\d\d,\d\d\d,\d\d\d,\d\d\d bytes needed, [\d,]+ free/,
  };
  await assert.rejects(get(t, [cache, origin]), shortage);
  assert.equal(write.mock.callCount(), 0);
  // A disk that fills up before that is known gives the same message.
  room.mock.mockImplementation(() => Infinity);
  write.mock.mockImplementation(() => {
    throw new Fault('disk-full', 'no room');
  });
  await assert.rejects(get(t, [cache, origin]), shortage);
});

test('if all caches have an older version of an object, the newer one comes from the origin', async (t) => {
  const [older, newer] = [objectBytes(3 * mebibyte), Buffer.from(objectBytes(3 * mebibyte)).fill(7)];
  const Modified = (day: number) => ({ 'Last-Modified': `Mon, 1${day} Nov 2026 00:00:00 GMT` });
  const origin = await serveObject(t, {
    bytes: newer,
    kind: 'origin',
    headers: { ETag: '"new"', ...Modified(6) },
    propfind: { size: newer.length, modified: Modified(6)['Last-Modified'] },
  });
  const stale = { bytes: older, headers: { ...hot, ETag: '"old"', ...Modified(5) } };
  const { result } = await get(t, [stale, stale, stale], { sha256: sha256(newer) }, [origin]);
  assert.equal(result.verified, 'digest');
});

test('a wrong digest of one cache costs one more request, and no byte', async (t) => {
  const bytes = objectBytes(3 * mebibyte);
  const wrong = { bytes, headers: { ...hot, ...digestOf(Buffer.from('another object')) } };
  const right = { bytes, headers: { ...hot, ...digestOf(bytes) } };
  const { result, served } = await get(t, [wrong, right]);
  assert.deepEqual([result.verified, result.digest?.server, served], ['digest', result.digest?.server, 1]);
  assert.equal(result.digest?.hex, sha256(bytes));
});
