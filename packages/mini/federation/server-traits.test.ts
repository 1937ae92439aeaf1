import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { ask, demoFederation } from '../../../test/mini/demo-federation.ts';
import type { ServerModel, Traits } from './server-traits.ts';

/** A federation that imitates `like`, and functions to request objects of `/demo`. */
async function demoLike(t: TestContext, like: ServerModel, traits: Partial<Traits> = {}) {
  const demo = await demoFederation(t, { like, traits });
  const { federation, folder } = demo;
  await writeFile(path.join(folder, 'demo/empty'), '');
  await writeFile(path.join(folder, 'demo/page'), '  <html><body>an object</body></html>');
  const at = (server: { url: string }) => (name: string, method: string, headers: Record<string, string>) =>
    ask(federation, `${server.url}/demo/${name}`, { method, headers });
  const [first, second] = federation.caches;
  return { ...demo, origin: at(federation.origin), cache: at(first!), cache2: at(second!) };
}

const range = { Range: 'bytes=0-' };
const textOf = ({ body }: { body: Buffer }): string => body.toString();
const originRequests = (federation: { counters: { server(name: string): { requests: number } } }): number =>
  federation.counters.server('origin').requests;

test('Go: only a complete object has an Age, and a full GET costs the origin three requests', async (t) => {
  const { federation, cache, objects } = await demoLike(t, 'pelican-go');
  const miss = await cache('big.bin', 'GET', {});
  assert.equal(miss.headers.age, undefined);
  assert.ok(miss.body.equals(objects.big));
  // PROPFIND and GET; the first answer after that costs a HEAD for the digests.
  assert.equal(originRequests(federation), 2);
  for (const method of ['GET', 'HEAD'])
    assert.match((await cache('big.bin', method, {})).headers.age ?? '', /^\d+$/);
  assert.equal(originRequests(federation), 3);
  assert.equal((await cache('sub/small.txt', 'GET', {})).headers.age, '0', 'a small one is complete at once');
});

test('Go: a Range puts an uncached object into block mode, for full GETs too', async (t) => {
  const { federation, cache, objects } = await demoLike(t, 'pelican-go', { scanAfterMs: 0 });
  const part = await cache('big.bin', 'GET', { Range: 'bytes=0-99999' });
  assert.ok(part.body.equals(objects.big.subarray(0, 100_000)));
  assert.equal(part.headers.age, undefined);
  assert.equal(originRequests(federation), 1 + 4);
  const whole = await cache('big.bin', 'GET', {});
  assert.ok(whole.body.equals(objects.big));
  assert.equal(originRequests(federation), 1 + Math.ceil(objects.big.length / 32_768));
  const hit = await cache('big.bin', 'GET', { Range: 'bytes=5-9' });
  assert.ok(hit.headers.age !== undefined, 'complete');
  assert.equal(hit.headers['digest'], undefined, 'no digest for an object fetched in blocks');
});

test("Go: the origin's GET has another ETag than its HEAD and PROPFIND, and caches keep the one they saw", async (t) => {
  const { origin, cache, cache2 } = await demoLike(t, 'pelican-go');
  const got = (await origin('big.bin', 'GET', {})).headers;
  const head = (await origin('big.bin', 'HEAD', {})).headers;
  assert.notEqual(got.etag, head.etag);
  assert.equal(got['last-modified'], head['last-modified']);
  assert.ok(textOf(await origin('big.bin', 'PROPFIND', { Depth: '0' })).includes(head.etag!.slice(1, -1)));
  const [streamed, blocks] = [await cache('big.bin', 'GET', {}), await cache2('big.bin', 'GET', range)];
  assert.deepEqual([streamed.headers.etag, blocks.headers.etag], [got.etag, head.etag]);
  assert.equal(streamed.headers['last-modified'], blocks.headers['last-modified']);
  assert.equal((await cache('big.bin', 'HEAD', {})).headers['last-modified'], undefined);
});

test('Go: content types are sniffed: an object that begins like HTML gets text/html', async (t) => {
  const { origin, cache } = await demoLike(t, 'pelican-go');
  for (const at of [origin, cache]) {
    assert.equal((await at('page', 'GET', {})).headers['content-type'], 'text/html; charset=utf-8');
    assert.equal((await at('sub/small.txt', 'GET', {})).headers['content-type'], 'text/plain; charset=utf-8');
    assert.equal((await at('big.bin', 'GET', {})).headers['content-type'], 'application/octet-stream');
  }
});

test('Go: a folder is refused with 405, a Range of an empty object gets 200', async (t) => {
  const { origin, cache, cache2 } = await demoLike(t, 'pelican-go');
  for (const at of [origin, cache, cache2]) {
    const folder = await at('sub', 'GET', {});
    assert.equal(folder.status, 405);
    assert.match(textOf(folder), at === origin ? /^Method Not Allowed$/ : /^\{"error":"Method Not Allowed"/);
    const { status, headers } = await at('empty', 'GET', range);
    assert.deepEqual([status, headers['content-length']], [200, '0']);
  }
});

test('Go: HEAD of an uncached object has the origin compute digests, and times out for a big one', async (t) => {
  const { cache, federation } = await demoLike(t, 'pelican-go', { bigBytes: 1_000_000, headWaitMs: 1 });
  const small = await cache('sub/small.txt', 'HEAD', {});
  assert.match(String(small.headers['digest']), /md5=.*,crc32c=e3069283/);
  assert.deepEqual([small.status, small.headers.etag, small.headers.age], [200, undefined, undefined]);
  assert.equal((await cache('big.bin', 'HEAD', {})).status, 504);
  await cache('big.bin', 'GET', {});
  assert.equal((await cache('big.bin', 'HEAD', {})).status, 200);
  assert.equal((await cache('none', 'HEAD', {})).status, 404);
  assert.ok(originRequests(federation) > 0);
});

test("Go: a cache has the origin's digests of its objects, and for a big one none until its scan", async (t) => {
  const { origin, cache } = await demoLike(t, 'pelican-go');
  assert.equal((await cache('big.bin', 'GET', {})).headers['digest'], undefined);
  for (const method of ['GET', 'HEAD'])
    assert.match(
      String((await cache('big.bin', method, {})).headers['digest']),
      /^md5=\S+,crc32c=[\da-f]{8},sha=/,
    );
  assert.match(String((await origin('sub/small.txt', 'HEAD', {})).headers['digest']), /^crc32c=e3069283$/);
  assert.equal((await origin('sub/small.txt', 'GET', {})).headers['digest'], undefined);
  const want = { 'Want-Digest': 'sha-256' };
  assert.equal((await origin('sub/small.txt', 'HEAD', want)).headers['digest'], undefined);

  for (const [scanAfterMs, isScanned] of [
    [3_600_000, false],
    [0, true],
  ] as const) {
    const big = await demoLike(t, 'pelican-go', { bigBytes: 1_000_000, scanAfterMs });
    await big.cache('big.bin', 'GET', {});
    const sha256 = `sha-256=${createHash('sha256').update(big.objects.big).digest('base64')}`;
    const { headers } = await big.cache('big.bin', 'HEAD', want);
    assert.equal(headers['digest'], isScanned ? sha256 : undefined);
  }
});

test('Go: caches redirect listings to the origin', async (t) => {
  const { origin, cache, federation } = await demoLike(t, 'pelican-go');
  const hrefs = async (answer: ReturnType<typeof origin>): Promise<(string | undefined)[]> =>
    [...textOf(await answer).matchAll(/<D:href>([^<]*)/g)].map(([, href]) => href);
  const below = ['/demo/', '/demo/big.bin', '/demo/empty', '/demo/page', '/demo/sub/'];
  const { status, headers } = await cache('', 'PROPFIND', { Depth: '1' });
  assert.deepEqual([status, headers.location], [307, `${federation.origin.url}/demo`]);
  assert.deepEqual(await hrefs(origin('', 'PROPFIND', { Depth: '1' })), below);
  await cache('big.bin', 'GET', {});
  assert.deepEqual(await hrefs(cache('big.bin', 'PROPFIND', { Depth: '0' })), ['/demo/big.bin']);
});

test('Go: only-if-cached is 504 on a miss, and HEAD of a partly cached object has only its length', async (t) => {
  const { cache } = await demoLike(t, 'pelican-go');
  const only = { 'Cache-Control': 'only-if-cached' };
  assert.equal((await cache('big.bin', 'HEAD', only)).status, 504);
  await cache('big.bin', 'GET', { Range: 'bytes=0-0' });
  const { status, headers } = await cache('big.bin', 'HEAD', only);
  assert.deepEqual([status, headers['content-length'], headers.age], [200, '3500000', undefined]);
});

test('DELETE goes to the origin, which deletes', async (t) => {
  const { federation, folder } = await demoLike(t, 'pelican-go');
  const token = federation.issueToken({ namespace: '/inbox' });
  await writeFile(path.join(folder, 'inbox/old'), 'old');
  const sent = await ask(federation, `${federation.director.url}/inbox/old`, { method: 'DELETE', token });
  assert.equal(sent.status, 307);
  assert.ok(sent.headers.location?.startsWith(`${federation.origin.url}/inbox/old`));
  const deleted = await ask(federation, `${federation.origin.url}/inbox/old`, { method: 'DELETE', token });
  assert.equal(deleted.status, 204);
  assert.ok(!existsSync(path.join(folder, 'inbox/old')));
});

test('XRootD: no validators, no type, and an Age only on a full GET of a cached object', async (t) => {
  const { origin, cache, objects } = await demoLike(t, 'xrootd');
  for (const at of [origin, cache])
    for (const method of ['GET', 'HEAD']) {
      const { headers, status } = await at('page', method, {});
      const unsaid = ['etag', 'last-modified', 'content-type', 'accept-ranges', 'cache-control', 'age'];
      if (method === 'GET' || at === origin)
        assert.deepEqual([status, ...unsaid.filter((name) => headers[name] !== undefined)], [200]);
    }
  const stale = { Range: 'bytes=0-9', 'If-Range': '"another"' };
  const part = await cache('big.bin', 'GET', stale);
  assert.deepEqual([part.status, part.headers.age], [206, undefined]);
  assert.ok((await cache('big.bin', 'GET', {})).body.equals(objects.big));
  assert.match((await cache('big.bin', 'GET', {})).headers.age ?? '', /^\d+$/);
  assert.equal((await cache('big.bin', 'GET', range)).headers.age, undefined);
  assert.equal((await cache('big.bin', 'HEAD', {})).headers.age, undefined);
});

test('XRootD: a Range past the end is 416 without Content-Range', async (t) => {
  const { origin, cache } = await demoLike(t, 'xrootd');
  for (const at of [origin, cache]) {
    const { status, headers } = await at('empty', 'GET', range);
    assert.deepEqual([status, headers['content-range']], [416, undefined]);
    assert.equal((await at('empty', 'GET', {})).status, 200);
  }
});

test('XRootD: a folder is an HTML page without a type, at some caches 409', async (t) => {
  const { origin, cache, cache2 } = await demoLike(t, 'xrootd');
  for (const at of [origin, cache]) {
    const page = await at('sub', 'GET', range);
    assert.deepEqual([page.status, page.headers['content-type']], [200, undefined]);
    assert.match(textOf(page), /^<!DOCTYPE html[\s\S]*small\.txt/);
    assert.equal((await at('sub', 'HEAD', {})).headers['content-length'], '4096');
  }
  assert.equal((await cache2('sub', 'GET', {})).status, 409);
  assert.equal(textOf(await cache('none', 'GET', {})).startsWith('{'), false);
});

test('XRootD: HEAD has a crc32c in base64 on request', async (t) => {
  const { origin, cache } = await demoLike(t, 'xrootd');
  for (const at of [origin, cache]) {
    const { headers } = await at('sub/small.txt', 'HEAD', { 'Want-Digest': 'crc32c' });
    assert.equal(headers['digest'], 'crc32c=4waSgw==');
    assert.equal((await at('sub/small.txt', 'HEAD', {})).headers['digest'], undefined);
    assert.equal(
      (await at('sub/small.txt', 'GET', { 'Want-Digest': 'crc32c' })).headers['digest'],
      undefined,
    );
  }
});

test('XRootD: PROPFIND supports depth 0 and 1, at some caches 409, and a cache reports its own times', async (t) => {
  const { origin, cache, cache2 } = await demoLike(t, 'xrootd');
  const count = (text: string): number => text.split('<D:href>').length - 1;
  const folder = textOf(await origin('', 'PROPFIND', { Depth: '1' }));
  assert.equal(count(folder), 5);
  assert.match(folder, /<lp1:resourcetype><D:collection\/>/);
  assert.equal((await cache('sub', 'PROPFIND', { Depth: '1' })).status, 207);
  assert.equal((await cache2('sub', 'PROPFIND', { Depth: '1' })).status, 409);
  assert.match(textOf(await cache2('big.bin', 'PROPFIND', { Depth: '0' })), /getcontentlength>3500000</);
  await cache('big.bin', 'GET', {});
  assert.match(textOf(await cache('big.bin', 'PROPFIND', { Depth: '0' })), /getcontentlength>3500000</);
});
