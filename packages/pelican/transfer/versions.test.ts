import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { compileCache } from '../../../test/compile-cache.ts';
import { fastClock } from '../../../test/fast-clock.ts';
import { cliMain } from '../../../test/programs.ts';
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
import { systemClock } from '@updraft/base';
import { waitForChange } from '@updraft/base/processes';
import { Fault } from '../fault.ts';
import { alreadyThere, fetchToFile } from './fetch-to-file.ts';
import type { FetchEvent, FetchOptions } from './fetch.ts';

const url = 'osdf:///ns/data.bin';
const mebibyte = 1 << 20;
const clock = fastClock(10);
const cutAt = 3_000_000;
const time = 'Mon, 16 Nov 2026 00:00:00 GMT';
const later = 'Mon, 16 Nov 2026 00:00:07 GMT';
const v1 = objectBytes(8 * mebibyte);
const v2 = objectBytes(8 * mebibyte);

async function get(
  t: TestContext,
  options: ServerOptions[],
  { origin, ...more }: Partial<FetchOptions> & { origin?: ServerOptions } = {},
) {
  const target = path.join(await temporaryFolder(t), 'data.bin');
  const servers: RunningServer[] = [];
  for (const each of options) servers.push(await serveObject(t, each));
  const lister = origin && (await serveObject(t, { kind: 'origin', ...origin }));
  const setbacks: string[] = [];
  const onEvent = (event: FetchEvent): void => {
    if (event.kind === 'setback') setbacks.push(event.fault.message);
  };
  const limits = { stallSeconds: 3, headSeconds: 5, digestSeconds: 10, maxPasses: 2 };
  const locator = locatorOf(servers, lister && { lister, direct: [lister] });
  const all = { locator, clock, onEvent, limits, ...more };
  const ended = await fetchToFile(url, target, all).catch((error: unknown) => error as Error);
  const bytes = existsSync(target) ? readFileSync(target) : undefined;
  const [failed, result] = ended instanceof Error ? [ended, undefined] : [undefined, ended];
  return { bytes, failed, result, setbacks, servers };
}

/** Sends version 1 and breaks off; from then on it has version 2. */
const changing = (first: Record<string, string>, then: Record<string, string>): ServerOptions => ({
  bytes: v1,
  headers: first,
  get: (e: Exchange) => {
    if (e.nth === 1) e.begin(cutAt, () => e.request.socket.destroy());
    else e.answer({ body: v2.subarray(e.from), headers: then });
  },
});

test('one server: another strong ETag is another version, whatever the modification time', async (t) => {
  const got = await get(t, [
    changing({ ETag: '"e1"', 'Last-Modified': time }, { ETag: '"e2"', 'Last-Modified': time }),
  ]);
  assert.ok(got.bytes?.equals(v2), got.failed?.message ?? 'mixed');
});

test('one server without ETags: another modification time is another version', async (t) => {
  const got = await get(t, [changing({ 'Last-Modified': time }, { 'Last-Modified': later })]);
  assert.ok(got.bytes?.equals(v2), got.failed?.message ?? 'mixed');
});

test('a weak ETag proves nothing', async (t) => {
  const got = await get(t, [
    changing({ ETag: 'W/"e1"', 'Last-Modified': time }, { ETag: 'W/"e1"', 'Last-Modified': later }),
  ]);
  assert.ok(got.bytes?.equals(v2), got.failed?.message ?? 'mixed');
});

test('one server: another weak ETag is another version, although its time and size are the same', async (t) => {
  const [first, then] = [
    { ETag: 'W/"e1"', 'Last-Modified': time },
    { ETag: 'W/"e2"', 'Last-Modified': time },
  ];
  const got = await get(t, [changing(first, then)]);
  assert.ok(got.bytes?.equals(v2), got.failed?.message ?? 'mixed');
  // The same after a stop, by what the journal has kept.
  const stop = new AbortController();
  const target = path.join(await temporaryFolder(t), 'data.bin');
  const server = await serveObject(t, {
    ...changing(first, then),
    get: (e) => {
      if (e.nth === 1) e.begin(cutAt, () => void clock.sleep(5_000).then(() => stop.abort()));
      else e.answer({ body: v2.subarray(e.from), headers: then });
    },
  });
  const options = { locator: locatorOf([server]), clock };
  await assert.rejects(fetchToFile(url, target, { ...options, signal: stop.signal }));
  assert.ok(existsSync(`${target}.updraft-part.json`));
  await fetchToFile(url, target, options);
  assert.ok(readFileSync(target).equals(v2), 'mixed');
});

test('two servers: weak ETags may differ, and each must keep its own, weak or strong', async (t) => {
  const cut = (ETag?: string): ServerOptions => ({
    bytes: v1,
    headers: { 'Last-Modified': time, ...(ETag !== undefined && { ETag }) },
    get: (e) => (e.nth > 1 ? e.answer({ status: 500 }) : e.begin(cutAt, () => e.request.socket.destroy())),
  });
  const other = { bytes: v1, headers: { 'Last-Modified': time, ETag: 'W/"e2"' } };
  const joined = await get(t, [cut('W/"e1"'), other]);
  assert.ok(joined.bytes?.equals(v1), joined.failed?.message);
  assert.deepEqual(rangesOf(joined.servers[1]!), [`bytes=${cutAt}-`]);
  for (const [first, then] of [
    ['W/"e2"', 'W/"e3"'],
    ['"e2"', '"e3"'],
  ] as const) {
    const second = changing({ 'Last-Modified': time, ETag: first }, { 'Last-Modified': time, ETag: then });
    const got = await get(t, [cut(), { ...second, bytes: v1 }]);
    assert.ok(got.bytes === undefined || got.bytes.equals(v2) || got.bytes.equals(v1), 'mixed');
  }
});

test('nothing identifies the version: a broken answer is not continued, but fetched again as a whole', async (t) => {
  const got = await get(t, [changing({}, {})]);
  assert.ok(got.bytes?.equals(v2), got.failed?.message ?? 'mixed');
  assert.ok(
    got.setbacks.some((each) => /gives no ETag, time or digest/.test(each)),
    got.setbacks.join(', '),
  );
  const whole = { bytes: v1, headers: {} };
  const two = await get(t, [changing({}, {}), whole]);
  assert.ok(two.bytes?.equals(v1) === true || two.bytes?.equals(v2) === true, two.failed?.message ?? 'mixed');
});

test('nothing identifies the version: one server sends all of a big object, in one answer', async (t) => {
  const big = objectBytes(48 * mebibyte);
  const bare = { bytes: big, headers: { Age: '60' } };
  const got = await get(t, [bare, bare, bare]);
  assert.ok(got.bytes?.equals(big), got.failed?.message);
  assert.equal(got.servers.flatMap(({ seen }) => seen.filter(({ method }) => method === 'GET')).length, 1);
});

test("only a digest identifies the version: parts are joined if it is the server's still, or the user's", async (t) => {
  const cut: ServerOptions = {
    bytes: v1,
    headers: digestOf(v1),
    get: (e) => (e.nth > 1 ? e.answer() : e.begin(cutAt, () => e.request.socket.destroy())),
  };
  for (const [server, more] of [
    [cut, {}],
    [{ ...cut, headers: {} }, { sha256: sha256(v1) }],
  ] as const) {
    const got = await get(t, [server], more);
    assert.ok(got.bytes?.equals(v1), got.failed?.message);
    assert.deepEqual(rangesOf(got.servers[0]!), [`bytes=${cutAt}-`]);
  }
});

test('two caches with different strong ETags: the bytes of one of them', async (t) => {
  const big1 = objectBytes(48 * mebibyte);
  const big2 = objectBytes(48 * mebibyte);
  const serve = (bytes: Buffer, ETag: string): ServerOptions => ({
    bytes,
    headers: { ETag, 'Last-Modified': time, Age: '60' },
  });
  const got = await get(t, [serve(big1, '"e1"'), serve(big2, '"e2"')]);
  assert.ok(
    got.bytes?.equals(big1) === true || got.bytes?.equals(big2) === true,
    got.failed?.message ?? 'mixed',
  );
});

const right: ServerOptions = { bytes: v1, headers: { ETag: '"e1"', 'Last-Modified': time, Age: '60' } };
const digestOf = (bytes: Buffer) => ({
  Digest: `sha-256=${Buffer.from(sha256(bytes), 'hex').toString('base64')}`,
});
const rangesOf = ({ seen }: RunningServer) => seen.flatMap((each) => each.range ?? []);
const gets = ({ seen }: RunningServer) => seen.filter(({ method }) => method === 'GET').length;

test('two caches with different strong ETags and the same digest share the work', async (t) => {
  const cut: ServerOptions = {
    bytes: v1,
    headers: { ETag: '"e1"', 'Last-Modified': time, ...digestOf(v1) },
    get: (e) => e.begin(cutAt, () => e.request.socket.destroy()),
  };
  const other = { bytes: v1, headers: { ETag: '"e2"', 'Last-Modified': time, ...digestOf(v1) } };
  const got = await get(t, [cut, other]);
  assert.ok(got.bytes?.equals(v1), got.failed?.message);
  const [range] = got.servers[1]!.seen.flatMap((each) => each.range ?? []);
  assert.equal(range, `bytes=${cutAt}-`);
});

test('a digest that changes while the object is fetched: never a mixture', async (t) => {
  let heads = 0;
  const server: ServerOptions = {
    ...changing({ 'Last-Modified': time }, { 'Last-Modified': time }),
    head: (_, response) => {
      const said = digestOf(++heads === 1 ? v1 : v2);
      response.writeHead(200, { 'Content-Length': String(v1.length), ...said }).end();
    },
  };
  const got = await get(t, [server]);
  assert.ok(got.bytes?.equals(v2) ?? got.failed !== undefined, 'mixed');
});

test('a cache that overstates the size loses its place, and the others deliver', async (t) => {
  const size = v1.length + 1000;
  const overstates = (beyond: (e: Exchange) => void): ServerOptions => ({
    ...right,
    get: (e) => {
      const { response, from, request } = e;
      if (from >= v1.length) {
        beyond(e);
        return;
      }
      const range = { 'Content-Range': `bytes ${from}-${size - 1}/${size}` };
      const isRange = request.headers.range !== undefined;
      const length = { 'Content-Length': String(size - from) };
      response.writeHead(isRange ? 206 : 200, { ...right.headers, ...length, ...(isRange && range) });
      response.write(v1.subarray(from), () => request.socket.destroy());
    },
  });
  const empty = { 'Content-Range': `bytes */${v1.length}`, 'Content-Length': '0' };
  for (const beyond of [
    (e: Exchange) => void e.response.writeHead(416, empty).end(),
    (e: Exchange) => void e.request.socket.destroy(),
  ]) {
    const got = await get(t, [overstates(beyond), right, right]);
    assert.ok(got.bytes?.equals(v1), got.failed?.message);
  }
  // Nobody knows who of two servers is right.
  const head: ServerOptions['head'] = (_, response) =>
    void response.writeHead(200, { 'Content-Length': String(size) }).end();
  const got = await get(t, [{ ...overstates((e) => void e.request.socket.destroy()), head }, right]);
  assert.ok(got.bytes === undefined);
  const said = got.servers.map(({ server }, at) => `${server.host}: ${at === 0 ? size : v1.length} bytes`);
  for (const each of said) assert.match(got.failed?.message ?? '', new RegExp(each));
});

test('a cache that answers HEAD with another size does not decide', async (t) => {
  const head: ServerOptions['head'] = (_, response) =>
    void response.writeHead(200, { 'Content-Length': String(v1.length + 7) }).end();
  const got = await get(t, [{ ...right, head }, right, right]);
  assert.ok(got.bytes?.equals(v1), got.failed?.message);
});

test('a wrong SHA-256 is final after two downloads that agree, from two servers or from the only one', async (t) => {
  for (const servers of [[right], [right, right], [right, right, right]]) {
    const got = await get(t, servers, { sha256: sha256(v2) });
    assert.ok(got.failed instanceof Fault && got.failed.kind === 'expect-wrong', got.failed?.message);
    assert.match(got.failed.message, new RegExp(`SHA-256 is ${sha256(v1)}, should be ${sha256(v2)}`));
    const sent = got.servers.filter((each) => gets(each) > 0);
    assert.equal(sent.length, Math.min(2, servers.length));
    for (const { server } of sent) assert.match(got.failed.message, new RegExp(server.host));
  }
});

test('a wrong SHA-256 is final too if the other cache has another ETag, is dead, or nobody else delivers', async (t) => {
  const otherTag = { ...right, headers: { ...right.headers, ETag: '"e2"' } };
  const dead: ServerOptions = { bytes: v1, get: (e) => e.request.socket.destroy() };
  for (const [servers, named] of [
    [[right, otherTag], 2],
    [[right, dead], 1],
    [[right, dead, otherTag], 2],
  ] as const) {
    const got = await get(t, [...servers], { sha256: sha256(v2) });
    assert.ok(got.failed instanceof Fault && got.failed.kind === 'expect-wrong', got.failed?.message);
    assert.match(got.failed.message, new RegExp(`SHA-256 is ${sha256(v1)}, should be ${sha256(v2)}`));
    const sent = got.servers.filter(({ server }) => got.failed?.message.includes(server.host) === true);
    assert.equal(sent.length, named, got.failed.message);
    // A little first, then more: several requests for all bytes twice.
    assert.ok(
      sent.every((each) => gets(each) <= 5),
      `${sent.map(gets).join()} requests`,
    );
  }
  // If the other version is the expected one, it is what the user gets.
  const got = await get(t, [right, { ...otherTag, bytes: v2 }], { sha256: sha256(v2) });
  assert.ok(got.bytes?.equals(v2), got.failed?.message);
});

test('after starting over, the digest of the version before does not count', async (t) => {
  let gets = 0;
  const second = { ETag: '"a2"', 'Last-Modified': time };
  const changes: ServerOptions = {
    bytes: v1,
    headers: { ETag: '"a1"', 'Last-Modified': time },
    head: (_, response) => {
      const said = gets < 2 ? digestOf(v1) : {};
      response.writeHead(200, { 'Content-Length': String(v1.length), ...said }).end();
    },
    get: (e) => {
      gets = e.nth;
      if (e.nth === 1) e.begin(cutAt, () => void clock.sleep(500).then(() => e.request.socket.destroy()));
      else if (e.nth > 3) e.answer({ status: 503 });
      else {
        const range = `bytes ${e.from}-${v2.length - 1}/${v2.length}`;
        const length = { 'Content-Length': String(v2.length - e.from) };
        e.response.writeHead(e.from > 0 ? 206 : 200, { ...second, ...length, 'Content-Range': range });
        e.response.write(v2.subarray(e.from, e.from + cutAt), () => e.request.socket.destroy());
      }
    },
  };
  const stays: ServerOptions = {
    bytes: v1,
    headers: { ETag: '"b1"', 'Last-Modified': time, ...digestOf(v1) },
    get: (e) => e.answer(gets < 3 ? { status: 500 } : {}),
  };
  const got = await get(t, [changes, stays]);
  assert.ok(gets >= 3, 'it started over');
  assert.ok(got.bytes === undefined || got.bytes.equals(v1) || got.bytes.equals(v2), 'mixed');
  assert.equal(
    got.setbacks.filter((each) => /bytes came|should be/.test(each)).length,
    0,
    'joined, and repaired',
  );
});

test('a wrong size is final if two servers have the same other size', async (t) => {
  const got = await get(t, [right, right], { bytes: v1.length + 1 });
  assert.ok(got.failed instanceof Fault && got.failed.kind === 'expect-wrong', got.failed?.message);
});

test('what no server gave is named if only the size was verified', async (t) => {
  const bare = await get(t, [{ bytes: v1, headers: {} }]);
  assert.deepEqual(bare.result?.missing, ['digest', 'strong ETag', 'modification time']);
  assert.deepEqual((await get(t, [right])).result?.missing, ['digest']);
  // The same is said of a file that is there.
  const target = path.join(await temporaryFolder(t), 'data.bin');
  writeFileSync(target, v1);
  const locator = locatorOf([await serveObject(t, right)]);
  assert.deepEqual((await alreadyThere(url, target, { locator, clock }))?.missing, ['digest']);
  const proven = await get(t, [{ ...right, headers: digestOf(v1) }]);
  assert.deepEqual([proven.result?.verified, proven.result?.missing], ['digest', undefined]);
});

test('a killed command and the next one never mix two versions', async (t) => {
  const cwd = await temporaryFolder(t);
  const server = await serveObject(t, {
    bytes: v1,
    kind: 'plain',
    headers: { ETag: '"e1"', 'Last-Modified': time },
    get: (e) => {
      if (e.nth === 1) e.begin(cutAt, () => undefined);
      else e.answer({ body: v2.subarray(e.from), headers: { ETag: '"e2"' } });
    },
  });
  const run = () =>
    spawn(process.execPath, [cliMain, 'get', '--json', server.server.url], {
      cwd,
      env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: compileCache, HOME: cwd, TMPDIR: cwd },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  const first = run();
  const killed = once(first, 'exit');
  const journal = path.join(cwd, 'data.bin.updraft-part.json');
  while (!existsSync(journal)) await waitForChange([cwd], 50, systemClock);
  first.kill('SIGKILL');
  await killed;
  const { identity } = JSON.parse(readFileSync(journal, 'utf8')) as { identity: object };
  const kept = { size: v1.length, etag: '"e1"', modified: Date.parse(time), server: server.server.host };
  assert.deepEqual(identity, kept);
  const said = JSON.parse(await text(run().stdout)) as { verified: string; warning: string };
  assert.deepEqual([said.verified, said.warning], ['size', 'warning: size only, no server gave a digest']);
  assert.ok(readFileSync(path.join(cwd, 'data.bin')).equals(v2), 'mixed');
});
