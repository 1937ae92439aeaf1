import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, symlink, utimes, writeFile } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { test } from 'node:test';
import { ask, demoFederation } from '../../../test/mini/demo-federation.ts';

test('an object comes with its length, ETag, date and Accept-Ranges', async (t) => {
  const { federation, objects } = await demoFederation(t);
  const url = `${federation.origin.url}/demo/big.bin`;
  for (const method of ['GET', 'HEAD']) {
    const { status, headers, body } = await ask(federation, url, { method });
    assert.equal(status, 200);
    assert.equal(headers['content-length'], String(objects.big.length));
    assert.equal(headers['accept-ranges'], 'bytes');
    assert.match(headers.etag ?? '', /^"[^"]+"$/);
    assert.ok(!Number.isNaN(Date.parse(headers['last-modified'] ?? '')));
    assert.equal(headers.age, undefined);
    assert.equal(body.length, method === 'GET' ? objects.big.length : 0);
  }
});

test('a range is answered with 206 and exactly those bytes; beyond the end with 416', async (t) => {
  const { federation, objects } = await demoFederation(t);
  const url = `${federation.origin.url}/demo/big.bin`;
  const size = objects.big.length;
  const ranges: [string, number, number][] = [
    ['bytes=0-0', 0, 1],
    ['bytes=1000-1999', 1000, 2000],
    [`bytes=${size - 5}-`, size - 5, size],
    ['bytes=-7', size - 7, size],
    [`bytes=${size - 2}-${size + 100}`, size - 2, size],
    ['bytes=262100-262200', 262100, 262201],
  ];
  for (const [range, start, end] of ranges) {
    const { status, headers, body } = await ask(federation, url, { headers: { Range: range } });
    assert.equal(status, 206, range);
    assert.equal(headers['content-range'], `bytes ${start}-${end - 1}/${size}`);
    assert.equal(headers['content-length'], String(end - start));
    assert.ok(body.equals(objects.big.subarray(start, end)), range);
  }
  const beyond = await ask(federation, url, { headers: { Range: `bytes=${size}-` } });
  assert.equal(beyond.status, 416);
  assert.equal(beyond.headers['content-range'], `bytes */${size}`);
  for (const range of ['bytes=5-2', 'bytes=0-1,4-5', 'lines=1-2', 'bytes=-'])
    assert.equal((await ask(federation, url, { headers: { Range: range } })).status, 200, range);
});

test('conditions on the ETag work: 304 when unchanged, the complete object when If-Range is stale', async (t) => {
  const { federation, folder } = await demoFederation(t);
  const url = `${federation.origin.url}/demo/sub/small.txt`;
  const { etag } = (await ask(federation, url)).headers;
  assert.ok(etag);
  assert.equal((await ask(federation, url, { headers: { 'If-None-Match': etag } })).status, 304);
  assert.equal((await ask(federation, url, { headers: { 'If-None-Match': '"other"' } })).status, 200);
  const ranged = { Range: 'bytes=3-', 'If-Range': etag };
  assert.equal((await ask(federation, url, { headers: ranged })).status, 206);
  await writeFile(path.join(folder, 'demo/sub/small.txt'), 'abcdefghi');
  await utimes(path.join(folder, 'demo/sub/small.txt'), 1, 1);
  const stale = await ask(federation, url, { headers: ranged });
  assert.equal(stale.status, 200);
  assert.equal(stale.body.toString(), 'abcdefghi');
  assert.notEqual(stale.headers.etag, etag);
});

test('a client that asks for the transfer status gets chunks and a trailer', async (t) => {
  const { federation, objects } = await demoFederation(t);
  const headers = { 'X-Transfer-Status': 'true', TE: 'trailers' };
  const answer = await ask(federation, `${federation.origin.url}/demo/big.bin`, { headers });
  assert.equal(answer.headers['transfer-encoding'], 'chunked');
  assert.equal(answer.headers['trailer'], 'X-Transfer-Status');
  assert.equal(answer.headers['content-length'], undefined);
  assert.equal(answer.trailers['x-transfer-status'], '200: OK');
  assert.ok(answer.body.equals(objects.big));
});

test('each digest is encoded as its algorithm requires', async (t) => {
  const { federation, objects } = await demoFederation(t);
  const headers = { 'Want-Digest': 'adler32;q=0.1, md5, crc32c;q=0.5,sha,SHA-256' };
  const url = `${federation.origin.url}/demo/sub/small.txt`;
  const answer = await ask(federation, url, { method: 'HEAD', headers });
  const of = (name: string): string => createHash(name).update(objects.small).digest('base64');
  // The standard check value of CRC-32C for these nine digits.
  const crc = 'crc32c=e3069283';
  assert.equal(answer.headers['digest'], `md5=${of('md5')},${crc},sha=${of('sha1')},sha-256=${of('sha256')}`);
  assert.equal((await ask(federation, url, { method: 'HEAD' })).headers['digest'], undefined);
});

test('missing objects, folders, paths with .. and links out of the folder are refused', async (t) => {
  const { federation, folder } = await demoFederation(t);
  await symlink('/etc/hostname', path.join(folder, 'demo/leak'));
  const expected: [string, number][] = [
    ['/demo/none', 404],
    ['/demo/big.bin/under', 404],
    ['/none/x', 404],
    ['/demo/sub', 405],
    ['/demo/leak', 404],
    ['/demo/..%2fprivate/secret.txt', 400],
    ['/demo/%00', 400],
    ['/demo/%zz', 400],
  ];
  for (const [where, status] of expected) {
    const answer = await ask(federation, federation.origin.url + where);
    assert.equal(answer.status, status, where);
    const { error, detail } = JSON.parse(answer.body.toString()) as { error?: string; detail?: string };
    assert.ok(error !== undefined && detail !== undefined, where);
  }
});

test('PROPFIND describes an object and lists a folder', async (t) => {
  const { federation, objects } = await demoFederation(t);
  const list = (where: string, depth: string) =>
    ask(federation, federation.origin.url + where, { method: 'PROPFIND', headers: { Depth: depth } });
  const folder = await list('/demo', '1');
  assert.equal(folder.status, 207);
  assert.match(folder.headers['content-type'] ?? '', /xml/);
  const hrefs = [...folder.body.toString().matchAll(/<D:href>([^<]*)<\/D:href>/g)].map((match) => match[1]);
  assert.deepEqual(hrefs, ['/demo/', '/demo/big.bin', '/demo/sub/']);
  assert.match(folder.body.toString(), /<D:resourcetype><D:collection\/><\/D:resourcetype>/);
  const object = (await list('/demo/big.bin', '0')).body.toString();
  assert.match(object, new RegExp(`<D:getcontentlength>${objects.big.length}</D:getcontentlength>`));
  for (const property of ['getlastmodified', 'getetag', 'resourcetype'])
    assert.match(object, new RegExp(property));
  assert.equal((await list('/demo', '0')).body.toString().split('<D:href>').length - 1, 1);
  assert.equal((await list('/demo', 'infinity')).status, 403);
  assert.equal((await list('/demo/none', '1')).status, 404);
});

test('a complete upload appears with 201 and an ETag; overwriting needs the scope to modify', async (t) => {
  const { federation, folder } = await demoFederation(t);
  const url = `${federation.origin.url}/inbox/new/result.pt`;
  const put = (body: string, token?: string) =>
    ask(federation, url, {
      method: 'PUT',
      body: Buffer.from(body),
      ...(token === undefined ? {} : { token }),
    });
  const creator = federation.issueToken({ namespace: '/inbox', scope: 'storage.create:/' });
  assert.equal((await put('none')).status, 401);
  const first = await put('first', creator);
  assert.equal(first.status, 201);
  assert.ok(first.headers.etag);
  assert.equal((await put('second', creator)).status, 401);
  assert.equal(await readFile(path.join(folder, 'inbox/new/result.pt'), 'utf8'), 'first');
  const second = await put('second', federation.issueToken({ namespace: '/inbox' }));
  assert.equal(second.status, 201);
  assert.notEqual(second.headers.etag, first.headers.etag);
  assert.equal(await readFile(path.join(folder, 'inbox/new/result.pt'), 'utf8'), 'second');
  const elsewhere = await ask(federation, `${federation.origin.url}/demo/x`, {
    method: 'PUT',
    token: creator,
  });
  assert.equal(elsewhere.status, 405);
  await mkdir(path.join(folder, 'inbox/folder'));
  const token = federation.issueToken({ namespace: '/inbox' });
  assert.equal(
    (await ask(federation, `${federation.origin.url}/inbox/folder`, { method: 'PUT', token })).status,
    409,
  );
});

test('an upload that breaks off leaves nothing', async (t) => {
  const { federation, folder } = await demoFederation(t);
  const token = federation.issueToken({ namespace: '/inbox' });
  const request = http.request(`${federation.origin.httpUrl}/inbox/half.bin`, {
    method: 'PUT',
    headers: { Authorization: `Bearer ${token}`, 'Content-Length': 1000 },
  });
  request.on('error', () => undefined);
  request.write(Buffer.alloc(500));
  const inbox = path.join(folder, 'inbox');
  while ((await readdir(inbox)).length === 0) await new Promise(setImmediate);
  request.destroy();
  await new Promise((resolve) => request.once('close', resolve));
  while ((await readdir(inbox)).length > 0) await new Promise(setImmediate);
});
