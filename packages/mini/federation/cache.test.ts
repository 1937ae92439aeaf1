import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { ask, demoFederation } from '../../../test/mini/demo-federation.ts';

test('the first request fills the cache from the origin, the next is served without it', async (t) => {
  const { federation, folder, objects } = await demoFederation(t);
  const url = `${federation.caches[0]!.url}/demo/big.bin`;
  const miss = await ask(federation, url);
  assert.equal(miss.headers.age, '0');
  assert.ok(miss.body.equals(objects.big));
  assert.equal(federation.counters.server('origin').bytes, objects.big.length);
  await rm(path.join(folder, 'demo/big.bin'));
  const hit = await ask(federation, url);
  assert.ok(Number(hit.headers.age) > 0);
  assert.ok(hit.body.equals(objects.big));
  assert.equal(hit.headers.etag, miss.headers.etag);
  const head = await ask(federation, url, { method: 'HEAD' });
  assert.ok(Number(head.headers.age) >= Number(hit.headers.age));
  assert.equal((await ask(federation, `${federation.caches[1]!.url}/demo/big.bin`)).status, 404);
});

test('concurrent ranges in a cold cache all get their bytes, and the origin is read about once', async (t) => {
  const { federation, objects } = await demoFederation(t);
  const url = `${federation.caches[0]!.httpUrl}/demo/big.bin`;
  const size = objects.big.length;
  const starts = Array.from({ length: 8 }, (_, index) => Math.floor((index * size) / 8));
  const answers = await Promise.all(
    starts.map((start) => ask(federation, url, { headers: { Range: `bytes=${start}-${start + 99_999}` } })),
  );
  for (const [index, { status, body, headers }] of answers.entries()) {
    const start = starts[index]!;
    assert.equal(status, 206);
    assert.equal(headers['content-range'], `bytes ${start}-${start + 99_999}/${size}`);
    assert.ok(body.equals(objects.big.subarray(start, start + 100_000)));
  }
  assert.equal((await ask(federation, url)).body.compare(objects.big), 0);
  assert.ok(federation.counters.server('origin').bytes <= 2 * size);
});

test('only-if-cached gets 504 on a miss and the object on a hit', async (t) => {
  const { federation } = await demoFederation(t);
  const url = `${federation.caches[0]!.url}/demo/sub/small.txt`;
  const miss = await ask(federation, url, { headers: { 'Cache-Control': 'only-if-cached' } });
  assert.equal(miss.status, 504);
  assert.equal((JSON.parse(miss.body.toString()) as { error: string }).error, 'upstream_timeout');
  assert.equal(federation.counters.server('origin').requests, 0);
  await ask(federation, url);
  assert.equal((await ask(federation, url, { headers: { 'Cache-Control': 'only-if-cached' } })).status, 200);
});

test('a cache that cannot start in time answers 504 and keeps filling in the background', async (t) => {
  const { federation, objects } = await demoFederation(t);
  await federation.trouble.add('origin: delay 150ms first 1');
  const url = `${federation.caches[0]!.url}/demo/sub/small.txt`;
  const late = await ask(federation, url, { headers: { 'X-Pelican-Timeout': '1.01s' } });
  assert.equal(late.status, 504);
  const second = await ask(federation, url, { headers: { 'X-Pelican-Timeout': '69.5s' } });
  assert.equal(second.status, 200);
  assert.ok(second.body.equals(objects.small));
  // One HEAD and one GET: the second request joined the fill that the first had started.
  assert.equal(federation.counters.server('origin').requests, 2);
});

test('PROPFIND at a cache describes an object and refuses a folder with 409', async (t) => {
  const { federation } = await demoFederation(t);
  const find = (where: string) =>
    ask(federation, federation.caches[0]!.url + where, { method: 'PROPFIND', headers: { Depth: '0' } });
  const object = await find('/demo/sub/small.txt');
  assert.equal(object.status, 207);
  assert.match(object.body.toString(), /<D:getcontentlength>9</);
  assert.equal((await find('/demo/sub')).status, 409);
  assert.equal((await find('/demo/none')).status, 404);
});

test('a missing object is 404 at a cache, and found as soon as it exists', async (t) => {
  const { federation, folder } = await demoFederation(t);
  const url = `${federation.caches[0]!.url}/demo/later.txt`;
  const missing = await ask(federation, url);
  assert.equal(missing.status, 404);
  assert.equal((JSON.parse(missing.body.toString()) as { error: string }).error, 'not_found');
  await writeFile(path.join(folder, 'demo/later.txt'), 'now');
  assert.equal((await ask(federation, url)).body.toString(), 'now');
});

test('a cache keeps its copy when the origin changes, until it is evicted', async (t) => {
  const { federation, folder } = await demoFederation(t);
  const url = `${federation.caches[0]!.url}/demo/sub/small.txt`;
  const old = await ask(federation, url);
  await writeFile(path.join(folder, 'demo/sub/small.txt'), 'brand new');
  assert.deepEqual((await ask(federation, url)).body, old.body);
  await federation.evict('cache-1', '/demo/sub/small.txt');
  assert.equal((await ask(federation, url)).body.toString(), 'brand new');
});

test("a cache relays the origin's digests, so wrong bytes in the cache can be found", async (t) => {
  const { federation } = await demoFederation(t);
  await federation.trouble.add('cache-1: corrupt at 4');
  const url = `${federation.caches[0]!.url}/demo/sub/small.txt`;
  const answer = await ask(federation, url, { headers: { 'Want-Digest': 'crc32c' } });
  assert.equal(answer.headers['digest'], 'crc32c=e3069283');
  assert.notEqual(answer.body.toString(), '123456789');
});

test('an origin that dies during a miss shows in the trailer, and as a cut connection without one', async (t) => {
  const { federation } = await demoFederation(t);
  await federation.trouble.add('origin: down once 1200kB sent');
  const url = `${federation.caches[0]!.url}/demo/big.bin`;
  const headers = { 'X-Transfer-Status': 'true', TE: 'trailers' };
  const reported = await ask(federation, url, { headers });
  assert.equal(reported.status, 200);
  assert.match(reported.trailers['x-transfer-status'] ?? '', /^500: /);
  assert.ok(reported.body.length >= 1024 * 1024);
  const cut = await ask(federation, url);
  assert.equal(cut.status, 200);
  assert.ok(cut.cut, 'the connection was cut');
  await federation.trouble.clear();
  const whole = await ask(federation, url, { headers });
  assert.equal(whole.trailers['x-transfer-status'], '200: OK');
});

test('a cache whose origin is down answers 502 for a miss and still serves hits', async (t) => {
  const { federation } = await demoFederation(t);
  const [cache] = federation.caches;
  await ask(federation, `${cache!.url}/demo/sub/small.txt`);
  await federation.trouble.add('origin: down');
  assert.equal((await ask(federation, `${cache!.url}/demo/sub/small.txt`)).status, 200);
  const answer = await ask(federation, `${cache!.url}/demo/big.bin`);
  assert.equal(answer.status, 502);
  assert.equal((JSON.parse(answer.body.toString()) as { error: string }).error, 'upstream_connection_error');
});

test('an empty object is served by origin and cache', async (t) => {
  const { federation, folder } = await demoFederation(t);
  await writeFile(path.join(folder, 'demo/empty'), '');
  for (const { url } of [federation.origin, ...federation.caches]) {
    const { status, headers } = await ask(federation, `${url}/demo/empty`);
    assert.deepEqual([status, headers['content-length']], [200, '0']);
  }
});
