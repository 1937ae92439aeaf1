import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demoFederation } from '../../test/mini/demo-federation.ts';
import { RawSocket } from './raw-socket.ts';

test('no variable of the machine makes a server with an unknown certificate a trusted one', async (t) => {
  const { federation } = await demoFederation(t);
  const { hostname, port } = new URL(federation.origin.url);
  const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
  t.after(() => {
    if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
  });
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
  const events = { take: () => undefined, closed: () => undefined };
  const endpoint = { host: hostname, port: Number(port), tls: true, ca: undefined };
  await assert.rejects(RawSocket.open(endpoint, events, t.signal), /certificate/);
});
