import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { makeCertificateAuthority } from './x509.ts';
import { loopback, WebServer } from './web-server.ts';

test('a server comes back at its addresses, even if another process held a port for a while', async () => {
  const { certificate: cert, key } = makeCertificateAuthority('test', Date.now()).issue([loopback]);
  const server = new WebServer('origin', { cert, key }, async (_, response) => {
    await new Promise<void>((resolve) => response.end('here', resolve));
  });
  await server.start();
  const { url, httpUrl } = server;
  await server.setDown(true);
  await assert.rejects(fetch(httpUrl));
  const borrower = net.createServer().listen(Number(new URL(httpUrl).port), loopback);
  await once(borrower, 'listening');
  const up = server.setDown(false);
  // Enough turns for the server to find its port taken.
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
  borrower.close();
  await up;
  assert.deepEqual([server.url, server.httpUrl], [url, httpUrl]);
  assert.equal(await (await fetch(httpUrl)).text(), 'here');
  await server.stop();
});
