import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test, type TestContext } from 'node:test';
import http from 'node:http';
import { once } from 'node:events';
import { systemClock } from '@updraft/base';
import { ask, demoFederation } from '../../../test/mini/demo-federation.ts';
import type { MiniFederation } from './federation.ts';

const trailers = { 'X-Transfer-Status': 'true', TE: 'trailers' };

async function troubled(t: TestContext, ...rules: string[]) {
  const demo = await demoFederation(t);
  for (const rule of rules) await demo.federation.trouble.add(rule);
  const [cache] = demo.federation.caches;
  return { ...demo, url: `${cache!.url}/demo/big.bin`, small: `${cache!.url}/demo/sub/small.txt` };
}

function fired({ trouble }: MiniFederation): number[] {
  return trouble.list().map((rule) => rule.fired);
}

test('stall: some bytes, then silence on an open connection', async (t) => {
  const { federation, objects, url } = await troubled(t, 'cache-1: stall after 1MB on *.bin first 1');
  const plain = url.replace(federation.caches[0]!.url, federation.caches[0]!.httpUrl);
  const request = http.get(plain, { agent: false });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  let received = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    received += part.length;
    assert.ok(received <= 1_000_000);
    if (received === 1_000_000) break;
  }
  assert.deepEqual(fired(federation), [1]);
  assert.ok((await ask(federation, url)).body.equals(objects.big), 'the second request is spared');
});

test('stalled connections end with the federation', async (t) => {
  const { federation, url } = await troubled(t, 'cache-1: stall after 10');
  const waiting = ask(federation, url);
  while (federation.counters.server('cache-1').bytes < 10) await new Promise(setImmediate);
  await federation.stop();
  const { cut, body } = await waiting;
  assert.ok(cut);
  assert.equal(body.length, 10);
});

test('a probe too short to reach the trouble does not use it up', async (t) => {
  const { federation, url } = await troubled(
    t,
    'cache-1: reset after 1MB first 1',
    'cache-1: corrupt at 2MB first 1',
  );
  await ask(federation, url, { headers: { Range: 'bytes=0-0' } });
  await ask(federation, url, { method: 'HEAD' });
  assert.deepEqual(fired(federation), [0, 0]);
  assert.ok((await ask(federation, url)).cut);
  assert.deepEqual(fired(federation), [1, 1]);
});

test('reset: the connection is cut with RST, over https and http', async (t) => {
  const { federation, url, small } = await troubled(
    t,
    'cache-1: reset after 1MB',
    'cache-1: reset on small.txt',
  );
  for (const where of [url, url.replace(federation.caches[0]!.url, federation.caches[0]!.httpUrl)]) {
    const { status, cut, body } = await ask(federation, where);
    assert.deepEqual([status, cut], [200, 'ECONNRESET']);
    assert.ok(body.length <= 1_000_000);
  }
  assert.equal((await ask(federation, small)).cut, 'ECONNRESET');
  assert.deepEqual(federation.counters.server('cache-1').outcomes, { '200 cut': 3 });
});

test('truncate: with the length, the connection ends early', async (t) => {
  const { federation, objects, url } = await troubled(t, 'cache-1: truncate after 1MB with length');
  for (const headers of [{}, trailers]) {
    const answer = await ask(federation, url, { headers });
    assert.equal(answer.headers['content-length'], String(objects.big.length));
    assert.ok(answer.body.equals(objects.big.subarray(0, 1_000_000)));
    assert.ok(answer.cut);
  }
});

test('truncate: with the trailer, the trailer reports it', async (t) => {
  const { federation, url } = await troubled(t, 'cache-1: truncate after 1MB');
  const answer = await ask(federation, url, { headers: trailers });
  assert.equal(answer.body.length, 1_000_000);
  assert.equal(answer.cut, undefined);
  assert.equal(answer.trailers['x-transfer-status'], '500: unexpected EOF');
});

test('truncate: without trailer, the body seems complete', async (t) => {
  const { federation, url } = await troubled(t, 'cache-1: truncate after 1MB without trailer');
  for (const headers of [{}, trailers]) {
    const answer = await ask(federation, url, { headers });
    assert.equal(answer.body.length, 1_000_000);
    assert.deepEqual([answer.cut, answer.headers['content-length']], [undefined, undefined]);
    assert.equal(answer.trailers['x-transfer-status'], undefined);
  }
});

test('corrupt: right length, wrong bytes in exactly that range', async (t) => {
  const { federation, objects, url } = await troubled(t, 'cache-1: corrupt at 300000 length 1000 first 1');
  const { body } = await ask(federation, url);
  const wrong = [...body.entries()]
    .filter(([index, byte]) => byte !== objects.big[index])
    .map(([index]) => index);
  assert.equal(body.length, objects.big.length);
  assert.deepEqual([wrong.length, wrong[0], wrong.at(-1)], [1000, 300_000, 300_999]);
  assert.ok((await ask(federation, url)).body.equals(objects.big), 'the cached copy is intact');
});

test('corrupt at the origin reaches the caches that fill at that time', async (t) => {
  const { federation, objects, small } = await troubled(t, 'origin: corrupt at 0 first 1');
  assert.notDeepEqual((await ask(federation, small)).body, objects.small);
  assert.notDeepEqual((await ask(federation, small)).body, objects.small);
  await federation.evict();
  assert.deepEqual((await ask(federation, small)).body, objects.small);
});

test("statuses have Retry-After and the server's error format", async (t) => {
  const { federation, url } = await troubled(
    t,
    'cache-1: 429 retry-after 1500ms first 1',
    'cache-1: 503 retry-after 7s first 1',
    'cache-1: 403 first 1',
    'cache-1: 404 first 2',
    'director: 429 first 1',
  );
  const expected: [number, string | undefined, string][] = [
    [429, '2', 'cache_overloaded'],
    [503, '7', 'internal_error'],
    [403, undefined, 'authorization_denied'],
    [404, undefined, 'not_found'],
    [404, undefined, 'not_found'],
  ];
  for (const [status, retryAfter, code] of expected) {
    const answer = await ask(federation, url);
    assert.deepEqual([answer.status, answer.headers['retry-after']], [status, retryAfter]);
    assert.equal((JSON.parse(answer.body.toString()) as { error: string }).error, code);
  }
  assert.equal((await ask(federation, url)).status, 200);
  const director = await ask(federation, `${federation.discoveryUrl}/demo/big.bin`);
  assert.deepEqual([director.status, String(director.headers.server).slice(0, 8)], [429, 'pelican/']);
  assert.deepEqual(fired(federation), [1, 1, 1, 2, 1]);
});

test('a cache that is down refuses connections, and comes back at the same address', async (t) => {
  const { federation, small } = await troubled(t);
  const id = await federation.trouble.add('cache-1: down');
  await assert.rejects(ask(federation, small), { code: 'ECONNREFUSED' });
  assert.equal((await ask(federation, `${federation.caches[1]!.url}/demo/sub/small.txt`)).status, 200);
  assert.ok(await federation.trouble.remove(id));
  assert.equal((await ask(federation, small)).status, 200);
  await federation.trouble.add('cache-1: down for 2s');
  await assert.rejects(ask(federation, small), { code: 'ECONNREFUSED' });
  let status = 0;
  while (status === 0)
    status = await ask(federation, small).then(
      (answer) => answer.status,
      () => 0,
    );
  assert.equal(status, 200);
});

test('a server goes down in mid-body after sending a number of bytes', async (t) => {
  const { federation, url } = await troubled(t, 'cache-1: down once 1MB sent');
  assert.ok((await ask(federation, url)).cut);
  await assert.rejects(ask(federation, url), { code: 'ECONNREFUSED' });
  assert.deepEqual(fired(federation), [1]);
});

test('the director can be down, slow, or answer nonsense', async (t) => {
  const { federation } = await troubled(
    t,
    'director: nonsense first 1',
    'director: html first 1',
    'director: delay 30ms',
  );
  const where = `${federation.discoveryUrl}/demo/big.bin`;
  const page = await ask(federation, where);
  assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8']);
  const nonsense = await ask(federation, where);
  assert.deepEqual([nonsense.status, nonsense.headers['x-pelican-namespace']], [307, '=']);
  const before = performance.now();
  assert.equal((await ask(federation, where)).headers.location, `${federation.caches[0]!.url}/demo/big.bin`);
  assert.ok(performance.now() - before >= 29);
  await federation.trouble.clear();
  await federation.trouble.add('director: down');
  await assert.rejects(ask(federation, where), { code: 'ECONNREFUSED' });
});

test('a token expires in mid-transfer: the running answer continues, every later request is refused', async (t) => {
  const { federation } = await troubled(t, 'cache-1: expire-token after 4 first 1');
  const token = federation.issueToken({ namespace: '/private' });
  const object = '/private/secret.txt';
  const running = await ask(federation, federation.caches[0]!.url + object, { token });
  assert.deepEqual([running.status, running.body.length, running.cut], [200, 8, undefined]);
  assert.equal((await ask(federation, federation.caches[0]!.url + object, { token })).status, 403);
  assert.equal((await ask(federation, federation.caches[1]!.url + object, { token })).status, 403);
  assert.equal((await ask(federation, federation.discoveryUrl + object, { token })).status, 401);
  const renewed = federation.issueToken({ namespace: '/private' });
  assert.equal((await ask(federation, federation.caches[1]!.url + object, { token: renewed })).status, 200);
});

test('wrong size: length and Content-Range are wrong in the same way', async (t) => {
  const { federation, objects, url } = await troubled(t);
  const size = objects.big.length;
  for (const by of [-1000, 1000]) {
    await federation.trouble.add(`cache-1: wrong-size by ${by}`);
    const whole = await ask(federation, url);
    assert.equal(whole.headers['content-length'], String(size + by));
    assert.equal(whole.body.length, size + by);
    const part = await ask(federation, url, { headers: { Range: 'bytes=0-9' } });
    assert.equal(part.headers['content-range'], `bytes 0-9/${size + by}`);
    await federation.trouble.clear();
  }
});

test('a range is ignored, or answered from another offset', async (t) => {
  const { federation, objects, url } = await troubled(
    t,
    'cache-1: ignore-range first 1',
    'cache-1: wrong-offset by -500 first 1',
  );
  const headers = { Range: 'bytes=1000-1999' };
  await ask(federation, url);
  assert.deepEqual(fired(federation), [0, 0], 'requests without a range are spared');
  const ignored = await ask(federation, url, { headers });
  assert.deepEqual([ignored.status, ignored.headers['content-range']], [200, undefined]);
  assert.ok(ignored.body.equals(objects.big));
  const shifted = await ask(federation, url, { headers });
  assert.deepEqual(
    [shifted.status, shifted.headers['content-range']],
    [206, `bytes 500-1499/${objects.big.length}`],
  );
  assert.ok(shifted.body.equals(objects.big.subarray(500, 1500)));
});

test('a web page, or garbage, is served instead of the data', async (t) => {
  const { federation, url } = await troubled(t, 'cache-1: html first 1', 'cache-1: nonsense first 1');
  const page = await ask(federation, url);
  assert.deepEqual([page.status, page.headers['content-type']], [200, 'text/html; charset=utf-8']);
  assert.match(page.body.toString(), /^<!DOCTYPE html>/);
  const rubbish = await ask(federation, url);
  assert.deepEqual([rubbish.status, rubbish.headers['content-length']], [200, undefined]);
});

test('an object changes between requests: another ETag, other bytes, same length', async (t) => {
  const { federation, objects, url } = await troubled(t, 'cache-1: changed skip 1');
  const before = await ask(federation, url);
  const after = await ask(federation, url);
  assert.ok(before.body.equals(objects.big));
  assert.notEqual(after.headers.etag, before.headers.etag);
  assert.equal(after.body.length, before.body.length);
  assert.ok(!after.body.equals(before.body));
  const resume = { Range: 'bytes=100-', 'If-Range': before.headers.etag ?? '' };
  assert.equal((await ask(federation, url, { headers: resume })).status, 200);
});

test('digests are missing, late or mislabelled', async (t) => {
  const { federation, objects, small } = await troubled(
    t,
    'cache-1: digest-missing first 1',
    'cache-1: digest-slow 30ms first 1',
    'cache-1: digest-mislabelled first 1',
  );
  const head = () => ask(federation, small, { method: 'HEAD', headers: { 'Want-Digest': 'crc32c' } });
  assert.equal((await head()).headers['digest'], undefined);
  const before = performance.now();
  const md5 = createHash('md5').update(objects.small).digest('hex');
  assert.equal((await head()).headers['digest'], `crc32c=${md5}`);
  assert.ok(performance.now() - before >= 29);
  assert.equal((await head()).headers['digest'], 'crc32c=e3069283');
  assert.deepEqual(fired(federation), [1, 1, 1]);
});

test('slow throttles each answer, limit all answers together', async (t) => {
  const { federation, url } = await troubled(t, 'cache-1: slow 4MB/s', 'cache-2: limit 4MB/s');
  const timed = async (...urls: string[]): Promise<number> => {
    const before = performance.now();
    const headers = { Range: 'bytes=0-799999' };
    await Promise.all(urls.map((each) => ask(federation, each, { headers })));
    return performance.now() - before;
  };
  const other = `${federation.caches[1]!.url}/demo/big.bin`;
  const [alone, together] = [await timed(url, url), await timed(other, other)];
  // 0.2 s each, of which the first 50 ms may come at once. pacer.test.ts shows how even the rate is.
  assert.ok(alone >= 140, `two slow answers took ${alone} ms`);
  assert.ok(together >= 330, `two limited answers took ${together} ms`);
});

test('schedules: every, skip, for, once sent, and the object pattern', async (t) => {
  const { federation, url, small } = await troubled(t);
  const statuses = async (count: number, where = small): Promise<number[]> => {
    const all: number[] = [];
    for (let index = 0; index < count; index += 1) all.push((await ask(federation, where)).status);
    return all;
  };
  const using = async (rule: string, body: () => Promise<void>): Promise<void> => {
    await federation.trouble.add(rule);
    await body();
    await federation.trouble.clear();
  };
  await using('cache-1: 404 every 3', async () =>
    assert.deepEqual(await statuses(6), [200, 200, 404, 200, 200, 404]),
  );
  await using('caches: 404 skip 1 first 2', async () =>
    assert.deepEqual(await statuses(4), [200, 404, 404, 200]),
  );
  await using('all: 503 on /demo/**/*.txt', async () => {
    assert.deepEqual([await statuses(1), await statuses(1, url)], [[503], [200]]);
  });
  await using('cache-1: 404 once 5 sent on *.txt', async () =>
    assert.deepEqual(await statuses(3), [200, 404, 404]),
  );
  await using('cache-2: 404', async () => assert.deepEqual(await statuses(1), [200]));
  await assert.rejects(federation.trouble.add('cache-9: 404'), /there is no server cache-9/);
});

test('a rule with `for` ends after that time', async (t) => {
  let now = 0;
  const { federation } = await demoFederation(t, {
    clock: { now: () => Date.now(), monotonic: () => now, sleep: () => Promise.resolve() },
  });
  const url = `${federation.origin.url}/demo/sub/small.txt`;
  await federation.trouble.add('origin: 404 for 10s');
  now = 9_999;
  assert.equal((await ask(federation, url)).status, 404);
  now = 10_001;
  assert.equal((await ask(federation, url)).status, 200);
});

test('a web page from the origin stays in the caches instead of the data', async (t) => {
  const { federation, objects, small } = await troubled(t, 'origin: html');
  const page = await ask(federation, small);
  assert.equal(page.status, 200);
  assert.match(page.body.toString(), /^<!DOCTYPE html>/);
  await federation.trouble.clear();
  assert.deepEqual((await ask(federation, small)).body, page.body);
  await federation.evict();
  assert.deepEqual((await ask(federation, small)).body, objects.small);
});

test('a rule for one job spares other jobs and clients that name none', async (t) => {
  const { federation, url } = await troubled(t, 'caches: 404 from *#12.7#*');
  const status = async (job?: string): Promise<number> =>
    (await ask(federation, url, job === undefined ? {} : { headers: { 'X-Pelican-JobId': job } })).status;
  assert.equal(await status('ap#12.7#1763'), 404);
  assert.equal(await status('ap#12.70#1763'), 200);
  assert.equal(await status(), 200);
});

test('lasting: the time starts when the trouble first fires', async (t) => {
  let now = 0;
  const clock = { ...systemClock, monotonic: () => now };
  const { federation } = await demoFederation(t, { clock });
  await federation.trouble.add('cache-1: 404 lasting 5s');
  const url = `${federation.caches[0]!.url}/demo/big.bin`;
  const statusAt = async (time: number): Promise<number> => {
    now = time;
    return (await ask(federation, url)).status;
  };
  assert.deepEqual(
    [await statusAt(100_000), await statusAt(105_000), await statusAt(105_001)],
    [404, 404, 200],
  );
});
