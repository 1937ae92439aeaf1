import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import {
  firstByte,
  locatorOf,
  objectBytes,
  serveObject,
  sha256,
  type RunningServer,
  type ServerOptions,
} from '../../../test/transfer/object-server.ts';
import { fastClock } from '../../../test/fast-clock.ts';
import { makeCertificateAuthority } from '@updraft/mini/testing';
import { Fault as AnyFault } from '@updraft/base';
import type { Fault } from '../fault.ts';
import type { FetchEvent, FetchOptions } from './fetch.ts';
import { fetchToStream } from './fetch-to-stream.ts';
import type { Manifest } from './proof/manifest.ts';
import type { TransferLimits } from './limits.ts';

const url = 'osdf:///ns/data.bin';
const mebibyte = 1 << 20;
const clock = fastClock(10);
const hurried: Partial<TransferLimits> = { stallSeconds: 3, headSeconds: 5, digestSeconds: 10, maxPasses: 2 };

function manifestOf(bytes: Buffer, chunkBytes: number): Manifest {
  const chunks: string[] = [];
  for (let at = 0; at < bytes.length; at += chunkBytes)
    chunks.push(sha256(bytes.subarray(at, at + chunkBytes)));
  return { bytes: bytes.length, chunkBytes, sha256: sha256(bytes), chunks };
}

interface Received {
  hash: string;
  setbacks: FetchEvent[];
  result: Awaited<ReturnType<typeof fetchToStream>>;
}

async function receive(
  servers: RunningServer[],
  options: Partial<FetchOptions> = {},
  write: (chunk: Buffer) => void | Promise<void> = () => undefined,
): Promise<Received> {
  const hash = createHash('sha256');
  const setbacks: FetchEvent[] = [];
  const result = await fetchToStream(
    url,
    (chunk) => {
      hash.update(chunk);
      return write(chunk);
    },
    {
      locator: locatorOf(servers),
      clock,
      onEvent: (event) => event.kind === 'setback' && setbacks.push(event),
      ...options,
      limits: { ...hurried, ...options.limits },
    },
  );
  return { hash: hash.digest('hex'), setbacks, result };
}

async function serveAll(t: TestContext, options: ServerOptions[]): Promise<RunningServer[]> {
  return Promise.all(options.map((each) => serveObject(t, each)));
}

/** A writer that holds every chunk for a few turns of the event loop and then hashes it. */
function slowWriter(): { write: (chunk: Buffer) => Promise<void>; hex: () => string } {
  const hash = createHash('sha256');
  let nth = 0;
  return {
    async write(chunk) {
      for (let turn = nth++ % 4; turn >= 0; turn--) await nextTurn();
      hash.update(chunk);
    },
    hex: () => hash.digest('hex'),
  };
}

test('every byte is intact however slow the writer, with and without TLS', async (t) => {
  const bytes = objectBytes(24 * mebibyte);
  const authority = makeCertificateAuthority('test', Date.now());
  const tls = authority.issue(['127.0.0.1']);
  for (const server of await serveAll(t, [{ bytes }, { bytes, tls }])) {
    const writer = slowWriter();
    const locator = locatorOf([server], { ca: [authority.certificate] });
    const { result } = await receive([], { locator }, writer.write);
    assert.equal(writer.hex(), sha256(bytes), server.server.url);
    assert.equal(result.verified, 'size');
  }
});

test('a server whose certificate is not signed by a known authority is not trusted', async (t) => {
  const tls = makeCertificateAuthority('test', Date.now()).issue(['127.0.0.1']);
  const servers = await serveAll(t, [{ bytes: objectBytes(100), tls }]);
  await assert.rejects(receive(servers), (error: Fault) => {
    assert.equal(error.kind, 'servers-unreachable');
    assert.match(error.fix ?? '', /SSL_CERT_FILE/);
    return true;
  });
});

test('a slow writer is not mistaken for a stalled server', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const servers = await serveAll(t, [{ bytes }]);
  let waited = false;
  const { hash, setbacks } = await receive(servers, { limits: { stallSeconds: 2 } }, async () => {
    if (waited) return;
    waited = true;
    await clock.sleep(5_000);
  });
  assert.equal(hash, sha256(bytes));
  assert.deepEqual(setbacks, []);
});

test('the last bytes are written before the fetch ends, even of a server that was given up', async (t) => {
  const bytes = objectBytes(1000);
  const late: (() => void)[] = [];
  const servers = await serveAll(t, [
    { bytes, head: (_, response) => void late.push(() => response.writeHead(200).end()) },
  ]);
  let written = 0;
  // The server counts as silent while its digest is waited for; its bytes are here all the same.
  await receive(servers, { limits: { stallSeconds: 0.3 } }, async (chunk) => {
    for (const answer of late) answer();
    await clock.sleep(5_000);
    written += chunk.length;
  });
  assert.equal(written, bytes.length);
});

test('when a server breaks, the stream continues at that byte from another one', async (t) => {
  const bytes = objectBytes(4 * mebibyte);
  const breaks: ServerOptions = { bytes, get: (e) => e.begin(mebibyte + 1, () => e.request.socket.end()) };
  const servers = await serveAll(t, [breaks, { bytes }]);
  const { hash } = await receive(servers);
  assert.equal(hash, sha256(bytes));
  assert.equal(firstByte(servers[1]!.seen[0]?.range), mebibyte + 1);
});

test('several servers deliver one stream in order', async (t) => {
  const bytes = objectBytes(48 * mebibyte);
  const headers = { Age: '60', ETag: '"a"' };
  const caches = Array.from({ length: 3 }, (): ServerOptions => ({ bytes, headers }));
  const servers = await serveAll(t, caches);
  const writer = slowWriter();
  const { result } = await receive(servers, {}, writer.write);
  assert.equal(writer.hex(), sha256(bytes));
  assert.ok(result.servers.length > 1, 'more than one server was used');
});

test('several servers and a manifest deliver one stream of verified chunks', async (t) => {
  const bytes = objectBytes(48 * mebibyte + 12345);
  const caches = Array.from({ length: 3 }, (): ServerOptions => ({ bytes, headers: { Age: '60' } }));
  const writer = slowWriter();
  const servers = await serveAll(t, caches);
  const { result } = await receive(servers, { manifest: manifestOf(bytes, mebibyte) }, writer.write);
  assert.equal(writer.hex(), sha256(bytes));
  assert.equal(result.verified, 'manifest');
});

test('while a cache is still filling, no other cache is asked', async (t) => {
  const bytes = objectBytes(48 * mebibyte);
  const servers = await serveAll(t, [{ bytes, headers: { Age: '0' } }, { bytes }]);
  await receive(servers, { sha256: sha256(bytes) });
  assert.equal(servers[1]!.seen.length, 0);
});

test('a damaged chunk is never passed on; only it is fetched again, from another server', async (t) => {
  const bytes = objectBytes(8 * mebibyte);
  const damaged = Buffer.from(bytes);
  damaged[5 * mebibyte + 77] = (damaged[5 * mebibyte + 77] ?? 0) ^ 1;
  const servers = await serveAll(t, [{ bytes: damaged }, { bytes }]);
  const { hash, result, setbacks } = await receive(servers, { manifest: manifestOf(bytes, mebibyte) });
  assert.equal(hash, sha256(bytes));
  assert.equal(result.verified, 'manifest');
  assert.equal(setbacks.length, 1);
  const ranges = servers[1]!.seen.map(({ range }) => range);
  assert.deepEqual(ranges, [`bytes=${5 * mebibyte}-${6 * mebibyte - 1}`]);
});

test('a chunk that two servers send alike, but not as the manifest says, ends the fetch for good', async (t) => {
  const bytes = objectBytes(4 * mebibyte);
  const damaged = Buffer.from(bytes);
  damaged[100] = (damaged[100] ?? 0) ^ 1;
  const servers = await serveAll(t, [{ bytes: damaged }, { bytes: damaged }]);
  await assert.rejects(
    receive(servers, { manifest: manifestOf(bytes, mebibyte), limits: { maxPasses: 100 } }),
    (error: Fault) =>
      error.kind === 'expect-wrong' && servers.every(({ server }) => error.message.includes(server.host)),
  );
  const asked = servers.flatMap(({ seen }) => seen.filter(({ range }) => firstByte(range) === 0));
  assert.equal(asked.length, 2);
});

test('a wrong digest at the end is a fault, since the bytes were already passed on', async (t) => {
  const bytes = objectBytes(mebibyte);
  const servers = await serveAll(t, [{ bytes }]);
  await assert.rejects(
    receive(servers, { sha256: 'b'.repeat(64) }),
    (error: Fault) => error.kind === 'data-corrupt',
  );
});

test('a digest of the server verifies the stream', async (t) => {
  const bytes = objectBytes(mebibyte);
  const Digest = `md5=${createHash('md5').update(bytes).digest('base64')}`;
  const servers = await serveAll(t, [{ bytes, headers: { Digest } }]);
  assert.equal((await receive(servers)).result.verified, 'digest');
});

test('an object that changes after bytes were passed on ends the stream', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const changes: ServerOptions = {
    bytes,
    get: (e) => {
      e.response.setHeader('ETag', `"${e.nth}"`);
      if (e.nth === 1) e.begin(mebibyte, () => e.request.socket.end());
      else e.answer();
    },
  };
  await assert.rejects(
    receive(await serveAll(t, [changes])),
    (error: Fault) => error.kind === 'object-changed',
  );
});

test('an error that the writer throws ends the fetch unchanged', async (t) => {
  const servers = await serveAll(t, [{ bytes: objectBytes(2 * mebibyte) }]);
  const broken = new AnyFault('archive-damaged', 'the archive is cut off');
  for (const write of [
    () => {
      throw broken;
    },
    () => Promise.reject(broken),
  ])
    await assert.rejects(receive(servers, {}, write), (error) => error === broken);
});

test('a stalled cache among good ones costs little', async (t) => {
  const bytes = objectBytes(48 * mebibyte);
  const Age = '60';
  const stalls: ServerOptions = { bytes, headers: { Age }, get: (e) => e.begin(100_000, () => undefined) };
  const servers = await serveAll(t, [{ bytes, headers: { Age } }, stalls, { bytes, headers: { Age } }]);
  // On the fast clock, waiting for the stalled cache would take minutes; a busy machine does not.
  const { hash, result } = await receive(servers, { limits: { stallSeconds: 3000 } });
  assert.equal(hash, sha256(bytes));
  assert.ok(result.seconds < 1500, `took ${result.seconds} s`);
});

test('a token goes to the named server and is never sent along with a redirect to another host', async (t) => {
  const bytes = objectBytes(1000);
  const [elsewhere] = await serveAll(t, [{ bytes }]);
  const redirects: ServerOptions = {
    bytes,
    get: (e) =>
      e.answer({ status: 307, headers: { Location: elsewhere!.server.url }, body: Buffer.alloc(0) }),
    head: (_request, response) => response.writeHead(404).end(),
  };
  const [named] = await serveAll(t, [redirects]);
  const locator = locatorOf([named!], { headers: { Authorization: 'Bearer secret' } });
  assert.equal((await receive([], { locator })).hash, sha256(bytes));
  assert.equal(named!.seen[0]?.headers.authorization, 'Bearer secret');
  assert.ok(elsewhere!.seen.length > 0);
  assert.ok(elsewhere!.seen.every(({ headers }) => headers.authorization === undefined));
});

test('an object of unknown size is read to its proper end, and does not count as verified', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const get: ServerOptions['get'] = ({ response }) => {
    response.writeHead(200, { 'Transfer-Encoding': 'chunked' });
    response.end(bytes);
  };
  const servers = await serveAll(t, [
    { bytes, get, head: (_request, response) => response.writeHead(405).end() },
  ]);
  const { hash, result } = await receive(servers);
  assert.equal(hash, sha256(bytes));
  assert.equal(result.verified, 'none');
  assert.equal(result.bytes, bytes.length);
});

test('a fetch that turns out damaged records its servers, and the next one asks others', async (t) => {
  const bytes = objectBytes(mebibyte);
  const damaged = Buffer.from(bytes);
  damaged[1000] = (damaged[1000] ?? 0) ^ 1;
  const [bad, good] = await serveAll(t, [{ bytes: damaged }, { bytes }]);
  assert.ok(bad !== undefined && good !== undefined);
  const suspects = new Set<string>();
  const options = { suspects, sha256: sha256(bytes) };
  await assert.rejects(receive([bad, good], options), { kind: 'data-corrupt' });
  assert.equal(suspects.size, 1);
  const { hash, result } = await receive([bad, good], options);
  assert.equal(hash, sha256(bytes));
  assert.deepEqual(
    result.servers.filter(({ server }) => suspects.has(server)),
    [],
  );
});

test('if all servers are suspects, they are asked anyway', async (t) => {
  const bytes = objectBytes(mebibyte);
  const servers = await serveAll(t, [{ bytes }]);
  const suspects = new Set<string>();
  await assert.rejects(receive(servers, { suspects, sha256: 'a'.repeat(64) }), { kind: 'data-corrupt' });
  assert.equal((await receive(servers, { suspects, sha256: sha256(bytes) })).result.verified, 'digest');
});
