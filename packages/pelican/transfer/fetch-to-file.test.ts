import assert from 'node:assert/strict';
import { existsSync, readFileSync, writeFileSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import {
  defaultTime,
  type Exchange,
  firstByte,
  locatorOf,
  objectBytes,
  serveObject,
  sha256,
  type RunningServer,
  type ServerOptions,
} from '../../../test/transfer/object-server.ts';
import { fastClock } from '../../../test/fast-clock.ts';
import { systemClock } from '@updraft/base';
import { Fault, type FaultKind } from '../fault.ts';
import type { FetchEvent, FetchOptions } from './fetch.ts';
import { alreadyThere, fetchToFile } from './fetch-to-file.ts';
import { IdleConnections } from '../http/connections.ts';
import { PartFile } from './sinks/part-file.ts';
import type { TransferLimits } from './limits.ts';

const url = 'osdf:///ns/data.bin';
const mebibyte = 1 << 20;
const clock = fastClock(10);
/** Limits for tests, in seconds of the fast clock. */
const hurried: Partial<TransferLimits> = { stallSeconds: 3, headSeconds: 5, digestSeconds: 10, maxPasses: 2 };

interface Scene {
  target: string;
  events: FetchEvent[];
  setbacks(): string[];
  servers: RunningServer[];
  locator: ReturnType<typeof locatorOf>;
  fetch(more?: Partial<FetchOptions>): ReturnType<typeof fetchToFile>;
  compare(more?: Partial<FetchOptions>): ReturnType<typeof alreadyThere>;
}

async function scene(
  t: TestContext,
  servers: ServerOptions[],
  more: Parameters<typeof locatorOf>[1] = {},
): Promise<Scene> {
  const folder = await temporaryFolder(t);
  const running: RunningServer[] = [];
  for (const each of servers) running.push(await serveObject(t, each));
  const locator = locatorOf(running, more);
  const target = path.join(folder, 'data.bin');
  const events: FetchEvent[] = [];
  return {
    target,
    events,
    servers: running,
    locator,
    setbacks: () => events.flatMap((event) => (event.kind === 'setback' ? [event.fault.kind] : [])),
    compare: (options) => alreadyThere(url, target, { locator, clock, ...options }),
    fetch: (options) =>
      fetchToFile(url, target, {
        locator,
        clock,
        onEvent: (event) => events.push(event),
        ...options,
        limits: { ...hurried, ...options?.limits },
      }),
  };
}

async function fails(promise: Promise<unknown>, kind: FaultKind, message?: RegExp): Promise<Fault> {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof Fault, `not a Fault: ${String(error)}`);
    assert.equal(error.kind, kind, error.message);
    if (message !== undefined) assert.match(error.message, message);
    return error;
  }
  return assert.fail(`expected the Fault ${kind}`);
}

function same(file: string, bytes: Buffer): void {
  assert.equal(sha256(readFileSync(file)), sha256(bytes));
}

test('an object gets its name only when it is complete, and the result says how it was verified', async (t) => {
  const bytes = objectBytes(3 * mebibyte + 17);
  const s = await scene(t, [{ bytes, headers: { ETag: '"a"' } }]);
  const fetched = await s.fetch();
  same(s.target, bytes);
  assert.equal(fetched.bytes, bytes.length);
  assert.equal(fetched.verified, 'size');
  assert.deepEqual(fetched.servers, [{ server: s.servers[0]!.server.host, bytes: bytes.length }]);
  assert.deepEqual(readdirSync(path.dirname(s.target)), ['data.bin']);
});

test('an empty object is an empty file, whether the server answers 416 or 200', async (t) => {
  for (const get of [undefined, (e: { answer(c: object): void }) => e.answer({ status: 200 })]) {
    const s = await scene(t, [{ bytes: Buffer.alloc(0), ...(get !== undefined && { get }) }]);
    assert.equal((await s.fetch()).bytes, 0);
    assert.equal(readFileSync(s.target).length, 0);
  }
});

test('a known SHA-256 verifies the object', async (t) => {
  const bytes = objectBytes(mebibyte);
  const s = await scene(t, [{ bytes }]);
  assert.equal((await s.fetch({ sha256: sha256(bytes) })).verified, 'digest');
});

test('a digest that the server offers is requested and verifies the object', async (t) => {
  const bytes = objectBytes(mebibyte);
  const Digest = `sha-256=${Buffer.from(sha256(bytes), 'hex').toString('base64')}`;
  const s = await scene(t, [{ bytes, headers: { Digest } }]);
  assert.equal((await s.fetch()).verified, 'digest');
});

test('bytes that contradict the expected SHA-256 are never published', async (t) => {
  const s = await scene(t, [{ bytes: objectBytes(mebibyte) }]);
  await fails(s.fetch({ sha256: 'a'.repeat(64) }), 'expect-wrong', /SHA-256 is .*, should be aaaa.* twice/);
  assert.equal(existsSync(s.target), false);
});

test('a server that stalls is dropped, and another continues at the byte where it stopped', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const stalls: ServerOptions = { bytes, get: (e) => e.begin(700_000, () => undefined) };
  const s = await scene(t, [stalls, { bytes }]);
  await s.fetch();
  same(s.target, bytes);
  assert.deepEqual(s.setbacks(), ['transfer-stalled']);
  assert.equal(firstByte(s.servers[1]!.seen.find(({ method }) => method === 'GET')?.range), 700000);
});

test('a server that never answers loses to the next, without blame', async (t) => {
  const bytes = objectBytes(mebibyte);
  const s = await scene(t, [{ bytes, get: () => undefined }, { bytes }]);
  await s.fetch();
  same(s.target, bytes);
  assert.deepEqual(s.setbacks(), []);
});

test('a reset connection costs only the bytes not sent', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const resets: ServerOptions = {
    bytes,
    get: (e) => e.begin(500_000, () => e.request.socket.resetAndDestroy()),
  };
  const s = await scene(t, [resets, { bytes }]);
  const fetched = await s.fetch();
  same(s.target, bytes);
  assert.deepEqual(s.setbacks(), ['transfer-failed']);
  assert.equal(
    fetched.servers.reduce((sum, { bytes: some }) => sum + some, 0),
    bytes.length,
  );
});

test('an answer shorter than its Content-Length is not accepted as complete', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const cuts: ServerOptions = { bytes, get: (e) => e.begin(900_000, () => e.request.socket.end()) };
  const s = await scene(t, [cuts, { bytes }]);
  await s.fetch();
  same(s.target, bytes);
  assert.deepEqual(s.setbacks(), ['transfer-failed']);
});

/** Answers in chunks, as caches that send a transfer status do: `sent` bytes and then this status. */
function chunked(status: string | undefined, sent: number): NonNullable<ServerOptions['get']> {
  return ({ response, bytes, from }) => {
    const range = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
    const version = { 'Last-Modified': defaultTime };
    response.writeHead(206, { ...version, 'Content-Range': range, Trailer: 'X-Transfer-Status' });
    response.write(bytes.subarray(from, from + sent));
    if (status !== undefined) response.addTrailers({ 'X-Transfer-Status': status });
    response.end();
  };
}

test('a chunked answer with a good transfer status is the whole object', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const s = await scene(t, [{ bytes, get: chunked('200: OK', bytes.length) }]);
  await s.fetch();
  same(s.target, bytes);
  assert.equal(s.servers[0]!.seen[0]?.headers['x-transfer-status'], 'true');
});

test('a chunked answer that ends early is detected, with a bad transfer status and without any', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  for (const status of ['500: unexpected EOF', undefined]) {
    const s = await scene(t, [{ bytes, get: chunked(status, 600_000) }, { bytes }]);
    await s.fetch();
    same(s.target, bytes);
    assert.deepEqual(s.setbacks(), ['transfer-failed']);
    assert.equal(firstByte(s.servers[1]!.seen[0]?.range), 600000);
  }
});

test('bytes that the server withdraws with its transfer status are fetched again elsewhere', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const s = await scene(t, [{ bytes, get: chunked('500: checksum', bytes.length) }, { bytes }]);
  await s.fetch();
  same(s.target, bytes);
  assert.equal(firstByte(s.servers[1]!.seen[0]?.range), 0);
});

test('one cache without the object does not matter when another has it', async (t) => {
  const bytes = objectBytes(mebibyte);
  const s = await scene(t, [
    { bytes, get: (e) => e.answer({ status: 404, body: Buffer.from('no') }) },
    { bytes },
  ]);
  await s.fetch();
  same(s.target, bytes);
  assert.deepEqual(s.setbacks(), ['object-missing']);
});

test('the object is missing when every cache says so and the origin confirms it', async (t) => {
  const bytes = objectBytes(mebibyte);
  const missing: ServerOptions = { bytes, get: (e) => e.answer({ status: 404, body: Buffer.from('no') }) };
  const origin = await serveObject(t, { bytes, kind: 'origin' });
  const s = await scene(t, [missing, missing], { direct: [origin] });
  await s.fetch();
  same(s.target, bytes);
  const denies = await serveObject(t, { ...missing, kind: 'origin' });
  const nowhere = await scene(t, [missing, missing], { direct: [denies] });
  await fails(nowhere.fetch(), 'object-missing', /404/);
  assert.equal(denies.seen.filter(({ method }) => method === 'GET').length, 1);
});

test('if only caches say that the object is missing, it is retried and not missing for good', async (t) => {
  const bytes = objectBytes(mebibyte);
  const missing = { status: 404, body: Buffer.from('no') };
  const burst: ServerOptions = { bytes, get: (e) => e.answer(e.nth < 3 ? missing : {}) };
  const s = await scene(t, [burst, burst]);
  await s.fetch({ limits: { maxPasses: 6 } });
  same(s.target, bytes);
  const never: ServerOptions = { bytes, get: (e) => e.answer(missing) };
  const nowhere = await scene(t, [never, never]);
  await fails(nowhere.fetch(), 'servers-unreachable', /404.*the origin, which knows, could not be asked/);
});

test('the origin is believed at once when it says that the object is missing', async (t) => {
  const bytes = objectBytes(mebibyte);
  const gone: ServerOptions = {
    bytes,
    kind: 'origin',
    get: (e) => e.answer({ status: 404, body: Buffer.from('no') }),
    head: (_, response) => void response.writeHead(404).end(),
  };
  const s = await scene(t, [gone]);
  await fails(s.fetch(), 'object-missing');
  assert.equal(s.servers[0]!.seen.filter(({ method }) => method === 'GET').length, 1);
  assert.equal(existsSync(`${s.target}.updraft-part`), false);
});

test('a refused token is a separate fault, after every server was asked', async (t) => {
  const bytes = objectBytes(mebibyte);
  const refuses: ServerOptions = { bytes, get: (e) => e.answer({ status: 403, body: Buffer.from('no') }) };
  const s = await scene(t, [refuses, refuses], { headers: { Authorization: 'Bearer secret-token' } });
  const fault = await fails(s.fetch(), 'token-refused', /403 .*\(no\)/);
  assert.match(fault.fix ?? '', /get a token/);
  assert.doesNotMatch(fault.message, /secret-token/);
  assert.ok(s.servers.every(({ seen }) => seen.length > 0));
  const without = await scene(t, [refuses]);
  await fails(without.fetch(), 'token-missing');
});

test('a server that asks us to come back later is asked again after that time', async (t) => {
  const bytes = objectBytes(mebibyte);
  const inTwoSeconds = (): string => new Date(clock.now() + 2000).toUTCString();
  for (const later of [() => '1', inTwoSeconds]) {
    const busy: ServerOptions = {
      bytes,
      get: (e) =>
        e.answer(
          e.nth === 1 ? { status: 429, headers: { 'Retry-After': later() }, body: Buffer.from('later') } : {},
        ),
    };
    const s = await scene(t, [busy]);
    const before = clock.now();
    const fetched = await s.fetch();
    const waits = s.events.flatMap((event) => (event.kind === 'wait' ? [event] : []));
    assert.deepEqual(
      waits.map(({ fault, server }) => [fault.kind, server]),
      [['servers-unreachable', s.servers[0]!.server.host]],
    );
    assert.ok(waits[0]!.until >= before + 750 && waits[0]!.until <= clock.now());
    same(s.target, bytes);
    assert.ok(fetched.seconds >= 1, `came back after ${fetched.seconds} s`);
  }
});

test('a busy server does not hold up another one', async (t) => {
  const bytes = objectBytes(mebibyte);
  const busy: ServerOptions = {
    bytes,
    get: (e) => e.answer({ status: 503, headers: { 'Retry-After': '60' }, body: Buffer.from('') }),
  };
  const s = await scene(t, [busy, { bytes }]);
  assert.ok((await s.fetch()).seconds < 50);
  same(s.target, bytes);
});

test('a cache that is still waiting for its origin is kept', async (t) => {
  const bytes = objectBytes(mebibyte);
  const fills: ServerOptions = {
    bytes,
    get: (e) => e.answer(e.nth === 1 ? { status: 504, body: Buffer.from('') } : {}),
  };
  const s = await scene(t, [fills, { bytes }]);
  await s.fetch();
  same(s.target, bytes);
  assert.ok(
    s.servers[1]!.seen.every(({ method }) => method === 'HEAD'),
    'no other one is made to fetch it',
  );
});

test('a whole answer to a range request is never appended', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const resets: ServerOptions = {
    bytes,
    get: (e) =>
      e.nth === 1
        ? e.begin(500_000, () => e.request.socket.resetAndDestroy())
        : e.answer({ status: 404, body: Buffer.from('') }),
  };
  const ignores: ServerOptions = { bytes, get: (e) => e.answer({ status: 200, body: bytes, from: 0 }) };
  const s = await scene(t, [resets, ignores, { bytes }]);
  await s.fetch();
  same(s.target, bytes);
  assert.equal(s.setbacks().length, 2);
});

test('a server that cannot send ranges is read from its first byte if no other is left', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const resets: ServerOptions = {
    bytes,
    get: (e) =>
      e.nth === 1
        ? e.begin(500_000, () => e.request.socket.resetAndDestroy())
        : e.answer({ status: 404, body: Buffer.from('') }),
  };
  const ignores: ServerOptions = { bytes, get: (e) => e.answer({ status: 200, body: bytes, from: 0 }) };
  const s = await scene(t, [resets, ignores]);
  await s.fetch();
  same(s.target, bytes);
});

const contentRange = (from: number, { length }: Buffer) => `bytes ${from}-${length - 1}/${length}`;

test('a range that begins at another byte than requested is refused', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const get = (e: Exchange) =>
    e.answer({ status: 206, headers: { 'Content-Range': contentRange(1, bytes) } });
  const s = await scene(t, [{ bytes, get }, { bytes }]);
  await s.fetch();
  same(s.target, bytes);
  assert.deepEqual(s.setbacks(), ['data-wrong']);
});

test('a server that answers an open range with its size but no bytes is asked again with an end', async (t) => {
  const bytes = objectBytes(mebibyte);
  const old: ServerOptions = {
    bytes,
    get: (e) => {
      if (e.nth === 1) e.begin(1000, () => e.response.destroy());
      else if (!(e.request.headers.range ?? '').endsWith('-')) e.answer();
      else e.answer({ headers: { 'Content-Range': `bytes 1000--1/${bytes.length}` }, body: Buffer.alloc(0) });
    },
  };
  const s = await scene(t, [old]);
  await s.fetch();
  same(s.target, bytes);
  assert.deepEqual(s.setbacks(), ['transfer-failed']);
});

test('an HTML page with status 200 is not the object', async (t) => {
  const bytes = objectBytes(mebibyte);
  const page = Buffer.from('<html>Please log in</html>');
  const html: ServerOptions = {
    bytes,
    get: (e) =>
      e.answer({ status: 200, headers: { 'Content-Type': 'text/html; charset=utf-8' }, body: page }),
  };
  const s = await scene(t, [html, { bytes }]);
  await s.fetch();
  same(s.target, bytes);
  const alone = await scene(t, [html]);
  await fails(alone.fetch(), 'data-wrong', /HTML/);
  assert.equal(existsSync(alone.target), false);
});

test('an object that changes during the transfer is fetched again from its first byte', async (t) => {
  const before = objectBytes(2 * mebibyte);
  const after = objectBytes(2 * mebibyte);
  const changes: ServerOptions = {
    bytes: before,
    get: (e) => {
      if (e.nth === 1) e.response.setHeader('ETag', '"old"');
      if (e.nth === 1) {
        e.begin(600_000, () => e.request.socket.resetAndDestroy());
        return;
      }
      const whole = e.request.headers['if-range'] !== undefined && e.request.headers['if-range'] !== '"new"';
      e.answer({
        headers: { ETag: '"new"' },
        ...(whole ? { status: 200, body: after } : { body: after.subarray(e.from) }),
      });
    },
  };
  const s = await scene(t, [changes]);
  await s.fetch();
  same(s.target, after);
  assert.ok(s.setbacks().includes('object-changed'));
});

test('versions of two caches are never mixed', async (t) => {
  const old = objectBytes(2 * mebibyte);
  const fresh = objectBytes(2 * mebibyte);
  const first: ServerOptions = {
    bytes: old,
    headers: { ETag: '"old"' },
    get: (e) => (e.nth === 1 ? e.begin(600_000, () => e.request.socket.resetAndDestroy()) : e.answer()),
  };
  const s = await scene(t, [first, { bytes: fresh, headers: { ETag: '"new"' } }]);
  await s.fetch();
  const got = sha256(readFileSync(s.target));
  assert.ok(got === sha256(old) || got === sha256(fresh));
});

test('a dead server is skipped, and when all are dead the fault says so', async (t) => {
  const bytes = objectBytes(mebibyte);
  const dead: RunningServer = {
    server: { url: 'http://127.0.0.1:9/ns/data.bin', host: '127.0.0.1:9', kind: 'cache' },
    seen: [],
  };
  const good = await serveObject(t, { bytes });
  const s = await scene(t, []);
  await s.fetch({ locator: locatorOf([dead, good]) });
  same(s.target, bytes);
  const none = await scene(t, []);
  await fails(
    none.fetch({ locator: locatorOf([dead]) }),
    'servers-unreachable',
    /127\.0\.0\.1:9 refuses connections/,
  );
});

test('if no server was ever reached, the fetch gives up sooner than with one that fails', async (t) => {
  const server = { url: 'http://127.0.0.1:9/ns/data.bin', host: '127.0.0.1:9', kind: 'cache' as const };
  const s = await scene(t, []);
  const limits = { maxPasses: 6, maxUnreachedPasses: 2 };
  await fails(s.fetch({ locator: locatorOf([{ server, seen: [] }]), limits }), 'servers-unreachable');
  assert.equal(s.setbacks().filter((kind) => kind === 'servers-unreachable').length, 2);
});

test('as long as bytes arrive the transfer continues, however often a server fails', async (t) => {
  const bytes = objectBytes(12 * mebibyte);
  const fragile: ServerOptions = {
    bytes,
    get: (e) => e.begin(1.5 * mebibyte, () => e.request.socket.end()),
  };
  const s = await scene(t, [fragile, fragile, fragile]);
  await s.fetch();
  same(s.target, bytes);
  assert.ok(s.setbacks().length >= 7);
});

test('a size given by the user is required of every server', async (t) => {
  const bytes = objectBytes(mebibyte);
  const s = await scene(t, [{ bytes: bytes.subarray(1000) }, { bytes }]);
  await s.fetch({ bytes: bytes.length });
  same(s.target, bytes);
});

test('a stopped fetch keeps what it has, and the next one resumes from there', async (t) => {
  const bytes = objectBytes(3 * mebibyte);
  const stop = new AbortController();
  const pauses: ServerOptions = {
    bytes,
    headers: { ETag: '"v1"' },
    get: (e) => (e.nth === 1 ? e.begin(2 * mebibyte, () => undefined) : e.answer()),
  };
  const s = await scene(t, [pauses]);
  const first = s.fetch({
    signal: stop.signal,
    limits: { stallSeconds: 300 },
    onEvent: (event) => event.kind === 'progress' && event.bytes === 2 * mebibyte && stop.abort(),
  });
  await fails(first, 'interrupted');
  assert.equal(existsSync(s.target), false);
  const second = await s.fetch();
  same(s.target, bytes);
  assert.equal(second.servers[0]!.bytes, mebibyte);
  const resumed = s.servers[0]!.seen.filter(({ method }) => method === 'GET')[1]!;
  assert.equal(firstByte(resumed.range), 2 * mebibyte);
  assert.deepEqual(readdirSync(path.dirname(s.target)), ['data.bin']);
});

/** Leaves a part of an earlier attempt, with a journal that says that its first `end` bytes are on the disk. */
function leavePart(target: string, bytes: Buffer, identity: object, end: number, more: object = {}): void {
  writeFileSync(`${target}.updraft-part`, bytes);
  const done = [{ start: 0, end }];
  const { ino: inode } = statSync(`${target}.updraft-part`);
  const whole = { url, identity: { server: 'cache:8443', ...identity }, done, flushed: done, inode, ...more };
  writeFileSync(`${target}.updraft-part.json`, JSON.stringify(whole));
}

test('a part of an object that has changed since is discarded', async (t) => {
  const old = objectBytes(3 * mebibyte);
  const bytes = objectBytes(3 * mebibyte);
  const s = await scene(t, [{ bytes, headers: { ETag: '"v2"' } }]);
  leavePart(s.target, old.subarray(0, mebibyte), { size: bytes.length, etag: '"v1"' }, mebibyte);
  await s.fetch();
  same(s.target, bytes);
});

test('no journal is left for a part that starts fresh: the file may get the inode of the one before', async (t) => {
  const s = await scene(t, []);
  leavePart(s.target, objectBytes(mebibyte), { size: 3 * mebibyte, etag: '"v1"' }, mebibyte);
  const part = new PartFile(s.target);
  part.restart();
  part.close();
  assert.deepEqual(readdirSync(path.dirname(s.target)), ['data.bin.updraft-part']);
});

test('a part without anything to identify the object is not resumed', async (t) => {
  const bytes = objectBytes(3 * mebibyte);
  const s = await scene(t, [{ bytes }]);
  leavePart(s.target, objectBytes(mebibyte), { size: bytes.length }, mebibyte);
  await s.fetch();
  same(s.target, bytes);
});

test('after a reboot a part counts only as far as it was flushed', async (t) => {
  const bytes = objectBytes(3 * mebibyte);
  const s = await scene(t, [{ bytes, headers: { ETag: '"v1"' } }]);
  const lost = Buffer.concat([bytes.subarray(0, mebibyte), Buffer.alloc(mebibyte)]);
  const identity = { size: bytes.length, etag: '"v1"' };
  const flushed = [{ start: 0, end: mebibyte }];
  leavePart(s.target, lost, identity, 2 * mebibyte, { flushed, boot: 'an earlier one' });
  await s.fetch();
  same(s.target, bytes);
  assert.equal(firstByte(s.servers[0]!.seen[0]?.range), mebibyte);
});

test('a part that has every byte is confirmed by a server before it gets its name', async (t) => {
  const bytes = objectBytes(mebibyte);
  const s = await scene(t, [{ bytes, headers: { ETag: '"v1"' } }]);
  leavePart(s.target, bytes, { size: bytes.length, etag: '"v1"' }, bytes.length);
  const fetched = await s.fetch();
  same(s.target, bytes);
  assert.deepEqual(
    fetched.servers.map(({ bytes: some }) => some),
    [1],
  );
});

test('a stop while an earlier part is being verified loses nothing of it', async (t) => {
  const bytes = objectBytes(4 * mebibyte);
  const s = await scene(t, [{ bytes }]);
  const chunks = [0, 1, 2, 3].map((at) => sha256(bytes.subarray(at * mebibyte, (at + 1) * mebibyte)));
  const manifest = { bytes: bytes.length, chunkBytes: mebibyte, sha256: sha256(bytes), chunks };
  leavePart(s.target, bytes.subarray(0, 3 * mebibyte), { size: bytes.length }, 3 * mebibyte);
  await fails(s.fetch({ manifest, signal: AbortSignal.abort() }), 'interrupted');
  const { servers } = await s.fetch({ manifest });
  assert.equal(servers[0]?.bytes, mebibyte);
  same(s.target, bytes);
});

test('a part is not resumed from a server that cannot show that it has the same object', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const s = await scene(t, [{ bytes }]);
  leavePart(s.target, objectBytes(mebibyte), { size: bytes.length, etag: '"v1"' }, mebibyte);
  await s.fetch();
  same(s.target, bytes);
});

test('a size of zero given by the user is required too', async (t) => {
  const empty = await scene(t, [{ bytes: Buffer.alloc(0) }]);
  assert.equal((await empty.fetch({ bytes: 0 })).bytes, 0);
  const full = await scene(t, [{ bytes: objectBytes(10) }]);
  await fails(full.fetch({ bytes: 0 }), 'object-changed', /has 10 bytes, expected 0/);
});

test('a range that the only server sends damaged is requested from it again', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const damaged = Buffer.from(bytes);
  damaged[77] = (damaged[77] ?? 0) ^ 1;
  const flaky: ServerOptions = {
    bytes,
    get: (e) => e.answer(e.nth === 1 ? { body: damaged.subarray(e.from) } : {}),
  };
  const s = await scene(t, [flaky]);
  const chunks = [bytes.subarray(0, mebibyte), bytes.subarray(mebibyte)].map(sha256);
  const manifest = { bytes: bytes.length, chunkBytes: mebibyte, sha256: sha256(bytes), chunks };
  assert.equal((await s.fetch({ manifest })).verified, 'manifest');
  same(s.target, bytes);
  assert.equal(s.servers[0]!.seen[1]?.range, `bytes=0-${mebibyte - 1}`);
});

test('a token renewed during the transfer is used for the rest', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const expires: ServerOptions = {
    bytes,
    get: (e) => {
      if (e.nth === 1) e.begin(mebibyte, () => e.request.socket.end());
      else if (e.request.headers.authorization === 'Bearer new') e.answer();
      else e.answer({ status: 403, body: Buffer.from('expired') });
    },
  };
  const headers = { Authorization: 'Bearer old' };
  const s = await scene(t, [expires], { headers });
  await s.fetch({
    limits: { maxPasses: 4 },
    onEvent: (event) => {
      if (event.kind === 'setback' && event.fault.kind === 'token-expired')
        headers.Authorization = 'Bearer new';
    },
  });
  same(s.target, bytes);
});

test('a token that expires during the transfer is waited for and reported once; if none comes, that is the fault', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const breaks: ServerOptions = {
    bytes,
    get: (e) => (e.nth === 1 ? e.begin(mebibyte, () => e.request.socket.end()) : e.answer()),
  };
  for (const renewSeconds of [600, 5]) {
    let asks = 0;
    const headers = (): Record<string, string> => {
      // Expired after the first request, until a new one is put there.
      if (++asks > 1 && (asks < 10 || renewSeconds === 5)) throw new Fault('token-expired', 'it is old');
      return { Authorization: 'Bearer good' };
    };
    const s = await scene(t, [breaks], { headers });
    const fetched = s.fetch({ sha256: sha256(bytes), limits: { renewSeconds } });
    if (renewSeconds === 5) await fails(fetched, 'token-expired', /^it is old$/);
    else {
      await fetched;
      same(s.target, bytes);
    }
    assert.deepEqual(s.setbacks(), ['transfer-failed', 'token-expired']);
  }
});

test('a token that expired before the first byte is reported at once', async (t) => {
  const s = await scene(t, [{ bytes: objectBytes(10) }, { bytes: objectBytes(10) }], {
    headers: () => {
      throw new Fault('token-expired', 'it is old');
    },
  });
  await fails(s.fetch(), 'token-expired');
  assert.equal(s.servers[0]!.seen.length + s.servers[1]!.seen.length, 0);
  assert.deepEqual(s.setbacks(), []);
});

test('a server that asks for a longer wait than allowed ends the fetch at once', async (t) => {
  const bytes = objectBytes(10);
  const busy: ServerOptions = {
    bytes,
    get: (e) => e.answer({ status: 429, headers: { 'Retry-After': '5000' }, body: Buffer.from('later') }),
  };
  const s = await scene(t, [busy]);
  const fault = await fails(s.fetch(), 'servers-unreachable', /429/);
  assert.equal(fault.retryAfterSeconds, 5000);
});

test('bytes that the disk did not take do not count as done', async (t) => {
  const s = await scene(t, [{ bytes: objectBytes(2 * mebibyte), headers: { ETag: '"v1"' } }]);
  const full = new Fault('disk-full', 'no room');
  const write = t.mock.method(PartFile.prototype, 'write', (offset: number) => {
    if (offset > 0) throw full;
  });
  await assert.rejects(s.fetch(), (error) => error === full);
  const written = write.mock.calls[0]?.arguments[1]?.length;
  const journal = JSON.parse(readFileSync(`${s.target}.updraft-part.json`, 'utf8')) as { done: unknown };
  assert.deepEqual(journal.done, [{ start: 0, end: written }]);
});

test('an invalid journal is ignored', async (t) => {
  const bytes = objectBytes(mebibyte);
  for (const text of [
    '',
    '{',
    '[]',
    'null',
    '{"url":1}',
    `{"url":"${url}","identity":{"size":1},"done":[{"start":5,"end":2}]}`,
  ]) {
    const s = await scene(t, [{ bytes }]);
    writeFileSync(`${s.target}.updraft-part.json`, text);
    await s.fetch();
    same(s.target, bytes);
  }
});

test("if a server died before it sent a digest, another one's digest verifies the bytes", async (t) => {
  const bytes = objectBytes(4 * mebibyte);
  const dead: ServerOptions = {
    bytes,
    get: (e) => e.begin(500_000, () => e.request.socket.resetAndDestroy()),
    head: () => undefined,
  };
  const digest = Buffer.from(sha256(bytes), 'hex').toString('base64');
  const s = await scene(t, [dead, { bytes, headers: { Digest: `sha-256=${digest}` } }]);
  const fetched = await s.fetch({ limits: { digestSeconds: 10_000 } });
  assert.equal(fetched.verified, 'digest');
  same(s.target, bytes);
});

test('a target that already holds the object is recognized', async (t) => {
  const bytes = objectBytes(mebibyte);
  const s = await scene(t, [{ bytes }]);
  writeFileSync(s.target, bytes);
  assert.equal((await s.compare({ sha256: sha256(bytes) }))?.verified, 'digest');
  assert.equal((await s.compare())?.verified, 'size');
  assert.ok(s.servers[0]!.seen.every(({ method }) => method === 'HEAD'));
});

test('a target with other content is known as such, and one that is free too', async (t) => {
  const bytes = objectBytes(mebibyte);
  const s = await scene(t, [{ bytes }]);
  writeFileSync(s.target, 'my notes');
  await fails(s.compare(), 'file-invalid', /exists and is not/);
  assert.equal(readFileSync(s.target, 'utf8'), 'my notes');
  await s.fetch();
  same(s.target, bytes);
  rmSync(s.target);
  assert.equal(await s.compare(), undefined);
});

test('a target that cannot be compared with the object is not reported as different', async (t) => {
  const server = { url: 'http://127.0.0.1:9/ns/data.bin', host: '127.0.0.1:9', kind: 'cache' as const };
  const s = await scene(t, []);
  writeFileSync(s.target, 'my notes');
  const compared = s.compare({ locator: locatorOf([{ server, seen: [] }]) });
  await fails(compared, 'file-invalid', /exists, and no server says whether it is/);
  assert.equal(readFileSync(s.target, 'utf8'), 'my notes');
});

test('two fetches into the same file complete it; one may report the other', async (t) => {
  const bytes = objectBytes(8 * mebibyte);
  const s = await scene(t, [{ bytes, headers: { ETag: '"v1"' } }]);
  const ends = await Promise.allSettled([s.fetch(), s.fetch()]);
  const refused = ends.filter((end) => end.status === 'rejected');
  assert.ok(refused.length < 2);
  for (const { reason } of refused) assert.match(String(reason), /another process is writing it/);
  same(s.target, bytes);
});

test('a fetch whose part was removed does not publish what another process put there', async (t) => {
  const bytes = objectBytes(2 * mebibyte);
  const s: Scene = await scene(t, [
    {
      bytes,
      get: (e) =>
        e.begin(mebibyte, () => {
          rmSync(`${s.target}.updraft-part`);
          writeFileSync(`${s.target}.updraft-part`, 'of another process');
          e.response.end(bytes.subarray(mebibyte));
        }),
    },
  ]);
  await fails(s.fetch(), 'scratch-unusable', /another process/);
  assert.equal(existsSync(s.target), false);
  assert.equal(readFileSync(`${s.target}.updraft-part`, 'utf8'), 'of another process');
});

test('a target that cannot be written is a fault that names it', async (t) => {
  const s = await scene(t, [{ bytes: objectBytes(10) }]);
  mkdirSync(s.target);
  await fails(s.compare(), 'scratch-unusable', /data\.bin exists and is not a file/);
  await fails(
    fetchToFile(url, path.join(s.target, 'no/such/x'), { locator: s.locator }),
    'scratch-unusable',
    /x\.updraft-part/,
  );
});

test('lack of disk space for the object is found before the first byte', async (t) => {
  const s = await scene(t, [
    {
      bytes: Buffer.alloc(0),
      get: (e) =>
        e.answer({
          headers: { 'Content-Range': 'bytes 0-9/900000000000000', 'Content-Length': '10' },
          status: 206,
          body: Buffer.alloc(10),
        }),
    },
  ]);
  await fails(s.fetch(), 'disk-full', /900,000,000,000,000 bytes needed, [\d,]+ free/);
});

test('shared connections are reused by the next fetch', async (t) => {
  const bytes = objectBytes(1000);
  const s = await scene(t, [{ bytes }]);
  using connections = new IdleConnections(systemClock);
  const ports = new Set<number | undefined>();
  const options = { sha256: sha256(bytes) };
  const seen = (): number => {
    for (const { port } of s.servers[0]!.seen) ports.add(port);
    return ports.size;
  };
  for (let time = 0; time < 3; time++) await s.fetch({ ...options, connections });
  assert.equal(seen(), 1);
  await s.fetch(options);
  assert.equal(seen(), 2);
});

test('objects at file: URLs are copied with the same verification', async (t) => {
  const bytes = objectBytes(3 * mebibyte);
  const s = await scene(t, []);
  const source = `${s.target}.source`;
  writeFileSync(source, bytes);
  const server = { url: `file://${source}`, host: 'localhost', kind: 'plain' as const };
  const locator = locatorOf([{ server, seen: [] }]);
  assert.equal((await s.fetch({ locator, sha256: sha256(bytes) })).verified, 'digest');
  same(s.target, bytes);
  const gone = locatorOf([{ server: { ...server, url: 'file:///no/such/file' }, seen: [] }]);
  await fails(s.fetch({ locator: gone }), 'object-missing');
});

test('an object whose SHA-256 is wrong is fetched again from servers that had no part in it', async (t) => {
  const bytes = objectBytes(mebibyte);
  const damaged = Buffer.from(bytes);
  damaged[1000] = (damaged[1000] ?? 0) ^ 1;
  const s = await scene(t, [{ bytes: damaged }, { bytes }]);
  const { servers, verified } = await s.fetch({ sha256: sha256(bytes) });
  same(s.target, bytes);
  assert.equal(verified, 'digest');
  assert.equal(servers.length, 2);
  assert.deepEqual(s.setbacks(), ['data-corrupt']);
});

test('what other programs call NAME.part stays, and no object takes the place of a part', async (t) => {
  const s = await scene(t, [{ bytes: objectBytes(10) }]);
  for (const name of ['.part', '.part.json']) writeFileSync(s.target + name, 'theirs');
  await s.fetch();
  for (const name of ['.part', '.part.json']) assert.equal(readFileSync(s.target + name, 'utf8'), 'theirs');
  for (const name of ['.updraft-part', '.updraft-part.json']) {
    const fetching = fetchToFile(url, s.target + name, { locator: s.locator });
    await fails(fetching, 'file-invalid', /named like an unfinished download/);
  }
});
