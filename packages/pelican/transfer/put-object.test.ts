import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { utimesSync, writeFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, truncate, utimes, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { jumpingClock } from '../../../test/federation/jumping-clock.ts';
import { testFederation } from '../../../test/federation/origin-server.ts';
import { signedToken } from '../../../test/federation/signed-token.ts';
import { webServer } from '../../../test/federation/web-server.ts';
import { Fault, type FaultKind } from '../fault.ts';
import { ConnectionPool } from '../http/connections.ts';
import { NoAnswer } from '../http/no-answer.ts';
import { crc32cHasher } from './proof/digest.ts';
import { putObject, sendFile } from './put-object.ts';

const isFault = (kind: FaultKind) => (error: unknown) => error instanceof Fault && error.kind === kind;
const token = signedToken({ iss: 'https://issuer.example', scope: 'storage.create:/' });

interface Habits {
  /** Answers to the first PUTs; later ones are stored. */
  trouble?: ((response: ServerResponse) => void)[];
  existing?: boolean;
  digest?: 'right' | 'wrong' | 'none' | 'crc32c';
  hidden?: boolean;
  shorten?: boolean;
}

/** An origin that keeps one object in memory. */
async function origin(
  t: TestContext,
  { trouble = [], existing = false, digest = 'right', hidden = false, shorten = false }: Habits = {},
) {
  let stored: Buffer | undefined = existing ? Buffer.from('old') : undefined;
  let puts = 0;
  const made = await testFederation(
    t,
    [
      ({ method, body, headers }, response) => {
        if (method === 'PUT') {
          const bad = trouble[puts++];
          if (bad !== undefined) {
            bad(response);
            return;
          }
          if (headers['if-none-match'] === '*' && stored !== undefined) return response.writeHead(412).end();
          stored = shorten ? body.subarray(1) : body;
          return response.writeHead(201).end();
        }
        if (hidden) return response.writeHead(403).end();
        if (stored === undefined) return response.writeHead(404).end();
        const md5 = createHash('md5')
          .update(digest === 'wrong' ? 'other' : stored)
          .digest('base64');
        const crc = crc32cHasher();
        crc.update(stored);
        const digests = digest === 'crc32c' ? `crc32c=${crc.hex()}` : `md5=${md5}`;
        const isOffered = digest !== 'none' && String(headers['want-digest']).startsWith('crc32c, md5;q=');
        const offered = isOffered ? { Digest: digests } : {};
        return response.writeHead(200, { 'Content-Length': stored.length, ...offered }).end();
      },
    ],
    { env: { BEARER_TOKEN: token } },
  );
  const file = path.join(made.folder, 'file');
  const content = randomBytes(3_000_000);
  await writeFile(file, content);
  const requests = made.asked[0] ?? [];
  return {
    ...made,
    file,
    content,
    stored: () => stored,
    puts: () => requests.filter(({ method }) => method === 'PUT'),
  };
}

test('a file is uploaded with a token and its size announced, and is verified by digest', async (t) => {
  const { federation, file, content, stored, puts } = await origin(t);
  const progress: number[] = [];
  const put = await putObject(file, 'osdf:///ns/a,b', {
    federation,
    onProgress: (sent, total) => progress.push(sent / total),
  });
  assert.deepEqual([put.bytes, put.verified], [content.length, 'digest']);
  assert.ok(stored()?.equals(content));
  assert.equal(puts()[0]?.url, `/ns/a%2Cb?oss.asize=${content.length}`);
  assert.equal(puts()[0]?.headers.authorization, `Bearer ${token}`);
  assert.ok(progress.length >= 3 && progress.at(-1) === 1);
});

test('an empty file is an object too', async (t) => {
  const { federation, file, stored } = await origin(t);
  await writeFile(file, '');
  assert.equal((await putObject(file, 'osdf:///ns/x', { federation })).verified, 'digest');
  assert.equal(stored()?.length, 0);
});

test('an existing object is left alone unless overwriting is allowed', async (t) => {
  const { federation, file, content, stored } = await origin(t, { existing: true });
  await assert.rejects(putObject(file, 'osdf:///ns/x', { federation }), isFault('usage'));
  assert.equal(stored()?.toString(), 'old');
  await putObject(file, 'osdf:///ns/x', { federation, overwrite: true });
  assert.ok(stored()?.equals(content));
  const unseen = await origin(t, { existing: true, hidden: true });
  await assert.rejects(
    putObject(unseen.file, 'osdf:///ns/x', unseen),
    isFault('usage'),
    'the origin refuses what we may not see',
  );
});

test('after a reset, an object that we may not see is still not overwritten', async (t) => {
  const { federation, file, stored } = await origin(t, {
    existing: true,
    hidden: true,
    trouble: [(response) => response.destroy()],
  });
  await assert.rejects(putObject(file, 'osdf:///ns/x', { federation }), isFault('usage'));
  assert.equal(stored()?.toString(), 'old');
});

test('resets and busy origins are retried from the start', async (t) => {
  const trouble = [
    (response: ServerResponse) => response.destroy(),
    (response: ServerResponse) => response.writeHead(503, { 'Retry-After': '5' }).end(),
  ];
  const { federation, file, content, stored, puts, clock } = await origin(t, { trouble });
  assert.equal((await putObject(file, 'osdf:///ns/x', { federation })).verified, 'digest');
  assert.ok(stored()?.equals(content));
  assert.equal(puts().length, 3);
  assert.ok(clock.slept.includes(5000));
});

test('refusals are reported at once', async (t) => {
  const cases: [number, FaultKind][] = [
    [403, 'token-refused'],
    [507, 'disk-full'],
    [405, 'transfer-failed'],
  ];
  for (const [status, kind] of cases) {
    const { federation, file, puts } = await origin(t, {
      trouble: [(response) => response.writeHead(status).end()],
    });
    await assert.rejects(putObject(file, 'osdf:///ns/x', { federation }), isFault(kind));
    assert.equal(puts().length, 1);
  }
});

test('a copy that differs is a fault, and one that cannot be compared does not count as verified', async (t) => {
  const wrong = await origin(t, { digest: 'wrong' });
  await assert.rejects(putObject(wrong.file, 'osdf:///ns/x', wrong), isFault('data-corrupt'));
  assert.equal(wrong.puts().length, 2, 'a digest may be that of what was there a moment ago');
  const short = await origin(t, { digest: 'none', shorten: true });
  await assert.rejects(putObject(short.file, 'osdf:///ns/x', short), isFault('data-corrupt'));
  const bySize = await origin(t, { digest: 'none' });
  const xrootd = await origin(t, { digest: 'crc32c' });
  assert.equal((await putObject(xrootd.file, 'osdf:///ns/x', xrootd)).verified, 'digest');
  assert.equal((await putObject(bySize.file, 'osdf:///ns/x', bySize)).verified, 'size');
  const hidden = await origin(t, { hidden: true });
  assert.equal((await putObject(hidden.file, 'osdf:///ns/x', hidden)).verified, 'none');
});

test('an upload that is redirected to another host is sent without the token', async (t) => {
  const far = await webServer(t, ({ method }, response) =>
    response.writeHead(method === 'PUT' ? 201 : 404).end(),
  );
  const { federation, file, content } = await origin(t, {
    trouble: [(response) => response.writeHead(307, { Location: `${far.url}/disk1/x` }).end()],
    digest: 'none',
    hidden: true,
  });
  await putObject(file, 'osdf:///ns/x', { federation });
  const [put] = far.requests;
  assert.ok(put?.body.equals(content));
  assert.equal(put?.headers.authorization, undefined);
});

test('missing files, folders and places that accept no uploads are refused before anything is sent', async (t) => {
  const { federation, file, folder } = await origin(t);
  await mkdir(path.join(folder, 'dir'));
  await assert.rejects(
    putObject(path.join(folder, 'none'), 'osdf:///ns/x', { federation }),
    isFault('file-invalid'),
  );
  await assert.rejects(
    putObject(path.join(folder, 'dir'), 'osdf:///ns/x', { federation }),
    isFault('file-invalid'),
  );
  await assert.rejects(putObject(file, 'file:///tmp/x', { federation }), isFault('url-invalid'));
});

test('an abort stops an upload at once', async (t) => {
  const stop = new AbortController();
  const { federation, file } = await origin(t);
  const put = putObject(file, 'osdf:///ns/x', {
    federation,
    signal: stop.signal,
    onProgress: () => stop.abort(new Error('enough')),
  });
  await assert.rejects(put, /enough/);
});

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

test('a server that reads no further times out', async (t) => {
  const upload = await uploadTo(t, () => undefined, [10_000]);
  await assert.rejects(sendFile(upload), (error) => error instanceof NoAnswer && error.reason === 'timeout');
});

test('a refusal that comes before the body is read ends the upload', async (t) => {
  const upload = await uploadTo(t, (_, response) => response.writeHead(403).end(), [10_000, 30_000, 100_000]);
  let sent = 0;
  const { answer } = await sendFile({ ...upload, onProgress: (bytes) => void (sent = bytes) });
  assert.equal(answer.status, 403);
  assert.ok(sent < size, `${sent} bytes were pushed at a server that had said no`);
});

test('a file that shrinks while it is sent is reported as the fault', async (t) => {
  const upload = await uploadTo(t, (request) => request.resume(), [10_000, 30_000, 100_000]);
  const sending = sendFile({ ...upload, size: size + 1 });
  await assert.rejects(sending, (error) => error instanceof Fault && /became shorter/.test(error.message));
});

test('of two origins only the one that answers gets the object, and no request but a HEAD goes to the other', async (t) => {
  const answering: Parameters<typeof testFederation>[1][number] = ({ method }, response) =>
    response.writeHead(method === 'PUT' ? 201 : 404).end();
  const { federation, folder, asked } = await testFederation(t, [(_, r) => r.destroy(), answering], {
    env: { BEARER_TOKEN: token },
  });
  const file = path.join(folder, 'file');
  await writeFile(file, 'content');
  const { server } = await putObject(file, 'osdf:///ns/x', { federation });
  assert.match(server, /^127/);
  const methods = asked.map((each) => [...new Set(each.map(({ method }) => method))]);
  assert.deepEqual(methods, [['HEAD'], ['HEAD', 'PUT']]);
});

test('a file that changes while it is sent is a fault: its object may have parts of two versions', async (t) => {
  let file = '';
  const { federation, folder } = await testFederation(
    t,
    [
      (request, response) => {
        if (request.method === 'PUT') {
          writeFileSync(file, 'another');
          utimesSync(file, 0, 0);
        }
        response.writeHead(request.method === 'PUT' ? 201 : 404).end();
      },
    ],
    { env: { BEARER_TOKEN: token } },
  );
  file = path.join(folder, 'file');
  await writeFile(file, 'content');
  await utimes(file, 0, 0);
  const sending = putObject(file, 'osdf:///ns/x', { federation });
  await assert.rejects(sending, {
    kind: 'file-invalid',
    message: /file was changed while it was being sent/,
  });
});
