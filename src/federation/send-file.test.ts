import assert from 'node:assert/strict';
import { mkdtemp, rm, truncate, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { jumpingClock } from '../../test/federation/jumping-clock.ts';
import { Fault } from '../fault/fault.ts';
import { NoAnswer } from '../http/no-answer.ts';
import { ConnectionPool } from '../http/connections.ts';
import { sendFile } from './send-file.ts';

const size = 64 << 20;

/** A server that sees the head of an upload and decides whether to read its body. */
async function uploadTo(t: TestContext, listener: http.RequestListener, held: number[]) {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'updraft-send-'));
  const server = http.createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    await rm(folder, { recursive: true });
  });
  const file = path.join(folder, 'file');
  await writeFile(file, '');
  await truncate(file, size);
  const wire = new ConnectionPool({ clock: jumpingClock(held), ca: undefined });
  return {
    wire,
    file,
    size,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`,
    headers: {},
  };
}

test('a server that reads no further is given up by the clock', async (t) => {
  const upload = await uploadTo(t, () => undefined, [10_000]);
  await assert.rejects(sendFile(upload), (error) => error instanceof NoAnswer && error.reason === 'timeout');
});

test('a refusal that comes before the body is read ends the sending', async (t) => {
  const upload = await uploadTo(t, (_, response) => response.writeHead(403).end(), [10_000, 30_000, 100_000]);
  let sent = 0;
  const { answer } = await sendFile({ ...upload, onProgress: (bytes) => void (sent = bytes) });
  assert.equal(answer.status, 403);
  assert.ok(sent < size, `${sent} bytes were pushed at a server that had said no`);
});

test('a file that shrinks while it is sent is the fault of the file', async (t) => {
  const upload = await uploadTo(t, (request) => request.resume(), [10_000, 30_000, 100_000]);
  const sending = sendFile({ ...upload, size: size + 1 });
  await assert.rejects(sending, (error) => error instanceof Fault && /became shorter/.test(error.message));
});
