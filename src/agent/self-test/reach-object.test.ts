import assert from 'node:assert/strict';
import http from 'node:http';
import { createServer, type AddressInfo } from 'node:net';
import { test } from 'node:test';
import { jumpingClock } from '../../../test/federation/jumping-clock.ts';
import { testFederation } from '../../../test/federation/origin-server.ts';
import { createLocator } from '@updraft/pelican/federation';
import { reachObject } from './test-machine.ts';

function federation() {
  const clock = jumpingClock();
  return {
    clock,
    options: { federation: createLocator({ env: {}, cwd: '/', uid: 0, version: '0', clock }) },
  };
}

/** A local port on which nothing listens. */
async function closedPort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

test('a machine that reaches no server for twenty seconds names those it asked', async () => {
  const { clock, options } = federation();
  const port = await closedPort();
  const began = clock.monotonic();
  await assert.rejects(reachObject(`http://127.0.0.1:${port}/a.tar`, options), {
    kind: 'servers-unreachable',
    message: new RegExp(
      `cannot reach any server of http://127\\.0\\.0\\.1:${port}/a\\.tar: 127\\.0\\.0\\.1:${port} refuses connections$`,
    ),
  });
  const waited = (clock.monotonic() - began) / 1000;
  assert.ok(waited >= 18 && waited <= 20, String(waited));
});

test('a server that comes up in time is found', async (t) => {
  const { clock, options } = federation();
  const server = http.createServer((_, response) => {
    // Breaks off the first two requests.
    if (clock.slept.length < 2) response.destroy();
    else response.writeHead(200, { 'Content-Length': 7 }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  assert.deepEqual(await reachObject(`http://${host}/a.tar`, options), {
    server: host,
    said: 'has it',
    size: 7,
  });
});

const described = (inside: string): string =>
  `<D:multistatus xmlns:D="DAV:"><D:response><D:href>/ns/a.tar</D:href>${inside}</D:response></D:multistatus>`;

test('a cache is asked for its copy alone, and the origin for what the object is', async (t) => {
  for (const [status, body, expected] of [
    [207, described('<D:getcontentlength>7</D:getcontentlength>'), { said: 'does not have it yet', size: 7 }],
    [207, described('<D:iscollection>1</D:iscollection>'), { kind: 'url-invalid' }],
    [404, '', { kind: 'object-missing' }],
    [503, '', { said: 'answers with status 504' }],
  ] as const) {
    const { federation: found, asked } = await testFederation(
      t,
      [(_, r) => r.writeHead(504).end(), (_, r) => r.writeHead(status).end(body)],
      { origin: true },
    );
    const reached = reachObject('osdf:///ns/a.tar', { federation: found });
    if ('kind' in expected) await assert.rejects(reached, expected);
    else {
      const { server } = await reached;
      assert.deepEqual(await reached, { server, ...expected });
    }
    for (const { method, headers } of asked[0] ?? [])
      assert.ok(method === 'PROPFIND' || headers['cache-control'] === 'only-if-cached', method);
  }
});
