import assert from 'node:assert/strict';
import net, { type AddressInfo } from 'node:net';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { fastClock } from '../../../test/fast-clock.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import {
  locatorOf,
  objectBytes,
  serveObject,
  type RunningServer,
} from '../../../test/transfer/object-server.ts';
import { fetchToFile } from './fetch-to-file.ts';

/** How many connections to silent servers are open, and were at most. */
interface Open {
  now: number;
  most: number;
}

async function silentServer(t: TestContext, open: Open): Promise<RunningServer> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    open.most = Math.max(open.most, ++open.now);
    sockets.add(socket.on('error', () => undefined).on('close', () => open.now--));
    socket.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return running((server.address() as AddressInfo).port);
}

/** Nobody listens on the port of a server that has closed. */
async function refusingServer(): Promise<RunningServer> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return running(port);
}

function running(port: number): RunningServer {
  const host = `127.0.0.1:${port}`;
  return { server: { url: `http://${host}/ns/data.bin`, host, kind: 'cache' }, seen: [] };
}

for (const silent of [10, 19])
  test(`${silent} silent and ${19 - silent} refusing servers delay the only good one of twenty by less than 15 seconds`, async (t) => {
    const bytes = objectBytes(12 << 20);
    const open: Open = { now: 0, most: 0 };
    const good = await serveObject(t, { bytes });
    const dead = await Promise.all([
      ...Array.from({ length: silent }, () => silentServer(t, open)),
      ...Array.from({ length: 19 - silent }, () => refusingServer()),
    ]);
    // Silent and refusing ones in turn, the good one last.
    const servers = [
      ...dead.map((_, index) => dead[(index * 10) % 19]).filter((one) => one !== undefined),
      good,
    ];
    assert.equal(new Set(servers).size, 20);
    const clock = fastClock(20);
    const file = path.join(await temporaryFolder(t), 'data.bin');
    const start = clock.monotonic();
    const got = await fetchToFile('osdf:///ns/data.bin', file, { locator: locatorOf(servers), clock });
    assert.deepEqual(await readFile(file), bytes);
    const ms = clock.monotonic() - start;
    assert.ok(ms < 15_000, `${ms} ms`);
    assert.deepEqual(
      got.servers.map(({ server }) => server),
      [good.server.host],
      'who lost has sent nothing',
    );
    assert.equal(good.seen.filter(({ method }) => method === 'GET').length, 1);
    // Servers see the end of one connection a moment after the beginning of the next.
    assert.ok(open.most <= 20, `${open.most} requests at once`);
  });

test('a server that answers late still wins if no other has the object, and is asked once', async (t) => {
  const bytes = objectBytes(100_000);
  const clock = fastClock(20);
  const open: Open = { now: 0, most: 0 };
  const slow = await serveObject(t, {
    bytes,
    get: (exchange) => void clock.sleep(8_000).then(() => exchange.answer()),
  });
  const without = await serveObject(t, { bytes, get: (exchange) => exchange.answer({ status: 404 }) });
  const servers = [slow, without, await silentServer(t, open)];
  const file = path.join(await temporaryFolder(t), 'data.bin');
  const { servers: sent } = await fetchToFile('osdf:///ns/data.bin', file, {
    locator: locatorOf(servers),
    clock,
  });
  assert.deepEqual(await readFile(file), bytes);
  assert.deepEqual(
    sent.map(({ server }) => server),
    [slow.server.host],
  );
  assert.equal(slow.seen.filter(({ method }) => method === 'GET').length, 1);
});

test('while no server answers, only three caches are made to fetch the object; others send it if they have it', async (t) => {
  const bytes = objectBytes(100_000);
  const clock = fastClock(20);
  const cold: Parameters<typeof serveObject>[1]['get'] = (exchange) =>
    exchange.request.headers['cache-control'] === 'only-if-cached'
      ? exchange.answer({ status: 504 })
      : void clock.sleep(9_000).then(() => exchange.answer());
  const caches = await Promise.all(Array.from({ length: 6 }, () => serveObject(t, { bytes, get: cold })));
  const file = path.join(await temporaryFolder(t), 'data.bin');
  await fetchToFile('osdf:///ns/data.bin', file, { locator: locatorOf(caches), clock });
  assert.deepEqual(await readFile(file), bytes);
  const whole = caches.map(
    ({ seen }) =>
      seen.filter((one) => one.method === 'GET' && one.headers['cache-control'] === undefined).length,
  );
  assert.deepEqual(whole, [1, 1, 1, 0, 0, 0]);
});

test('if all caches that the director names are silent, the origin delivers within 15 seconds', async (t) => {
  const bytes = objectBytes(100_000);
  const clock = fastClock(20);
  const open: Open = { now: 0, most: 0 };
  const silent = await Promise.all(Array.from({ length: 6 }, () => silentServer(t, open)));
  const origin = await serveObject(t, { bytes, kind: 'origin' });
  const file = path.join(await temporaryFolder(t), 'data.bin');
  const start = clock.monotonic();
  await fetchToFile('osdf:///ns/data.bin', file, { locator: locatorOf(silent, { direct: [origin] }), clock });
  assert.deepEqual(await readFile(file), bytes);
  const ms = clock.monotonic() - start;
  assert.ok(ms < 14_000, `${ms} ms`);
});

test('a server that never connects delays the question for the size by a second', async (t) => {
  const bytes = objectBytes(1 << 20);
  const { server } = await silentServer(t, { now: 0, most: 0 });
  const unconnected = { server: { ...server, url: server.url.replace('http:', 'https:') }, seen: [] };
  const clock = fastClock(5);
  const file = path.join(await temporaryFolder(t), 'data.bin');
  const locator = locatorOf([await serveObject(t, { bytes }), unconnected]);
  const got = await fetchToFile('osdf:///ns/data.bin', file, { locator, clock });
  assert.equal(got.verified, 'size');
  assert.ok(got.seconds < 5, `${got.seconds} s`);
});
