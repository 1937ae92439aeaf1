import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { test, type TestContext } from 'node:test';
import { compileCache } from '../../test/compile-cache.ts';
import { fastClock } from '../../test/fast-clock.ts';
import { cliMain } from '../../test/programs.ts';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import {
  locatorOf,
  objectBytes,
  serveObject,
  sha256,
  type Exchange,
  type RunningServer,
  type ServerOptions,
} from '../../test/transfer/object-server.ts';
import { systemClock } from '../base/clock.ts';
import { waitForChange } from '../base/wait-for-change.ts';
import { Fault } from '../fault/fault.ts';
import { fetchToFile, type FetchToFileOptions } from './fetch-to-file.ts';
import type { FetchEvent } from './fetch.ts';

const url = 'osdf:///ns/data.bin';
const mebibyte = 1 << 20;
const clock = fastClock(10);
const cutAt = 3_000_000;
const time = 'Mon, 16 Nov 2026 00:00:00 GMT';
const later = 'Mon, 16 Nov 2026 00:00:07 GMT';
const v1 = objectBytes(8 * mebibyte);
const v2 = objectBytes(8 * mebibyte);

async function get(t: TestContext, options: ServerOptions[], more: Partial<FetchToFileOptions> = {}) {
  const target = path.join(await temporaryFolder(t), 'data.bin');
  const servers: RunningServer[] = [];
  for (const each of options) servers.push(await serveObject(t, each));
  const setbacks: string[] = [];
  const onEvent = (event: FetchEvent): void => {
    if (event.kind === 'setback') setbacks.push(event.fault.message);
  };
  const limits = { stallSeconds: 3, headSeconds: 5, digestSeconds: 10, maxPasses: 2 };
  const all = { locator: locatorOf(servers), clock, onEvent, limits, ...more };
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

test('a wrong size is final if two servers have the same other size', async (t) => {
  const got = await get(t, [right, right], { bytes: v1.length + 1 });
  assert.ok(got.failed instanceof Fault && got.failed.kind === 'expect-wrong', got.failed?.message);
});

test('what no server gave is named if only the size was verified', async (t) => {
  const bare = await get(t, [{ bytes: v1 }]);
  assert.deepEqual(bare.result?.missing, ['digest', 'strong ETag', 'modification time']);
  assert.deepEqual((await get(t, [right])).result?.missing, ['digest']);
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
  const journal = path.join(cwd, 'data.bin.part.json');
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
