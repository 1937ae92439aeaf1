import assert from 'node:assert/strict';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { objectBytes, sha256 } from '../../../../test/transfer/object-server.ts';
import { temporaryFolder } from '../../../../test/temporary-folder.ts';
import { hasher } from '../proof/digest.ts';
import { FileSink } from '../fetch-to-file.ts';
import { PartFile } from './part-file.ts';

const mebibyte = 1 << 20;
const bytes = objectBytes(40 * mebibyte);
const never = new AbortController().signal;

async function openSink(t: TestContext): Promise<FileSink> {
  const file = new PartFile(path.join(await temporaryFolder(t), 'x'));
  t.after(() => file.close());
  return new FileSink(file, {
    manifest: undefined,
    onDamaged: () => assert.fail('nothing proves a chunk wrong'),
  });
}

function write(sink: FileSink, start: number, end: number): void {
  for (let at = start; at < end; at += mebibyte) sink.write(at, bytes.subarray(at, at + mebibyte), 'host');
}

test('the digest of the file is right whatever the order of its parts and whenever it is requested', async (t) => {
  const sink = await openSink(t);
  write(sink, 30 * mebibyte, bytes.length);
  write(sink, 0, 10 * mebibyte);
  sink.hashBy('sha-256');
  sink.follow(10 * mebibyte);
  write(sink, 10 * mebibyte, 30 * mebibyte);
  sink.follow(bytes.length);
  assert.equal(await sink.digest('sha-256', bytes.length, never), sha256(bytes));
  assert.equal(await sink.digest('crc32c', 0, never), '00000000');
});

test('a digest with much to read back yields to the event loop and can be stopped', async (t) => {
  const sink = await openSink(t);
  write(sink, 0, bytes.length);
  let turns = 0;
  const turning = setInterval(() => turns++, 0);
  t.after(() => clearInterval(turning));
  await assert.rejects(
    sink.digest('sha-256', bytes.length, AbortSignal.abort(new Error('stopped'))),
    /stopped/,
  );
  assert.equal(await sink.digest('sha-256', bytes.length, never), sha256(bytes));
  assert.ok(turns > 0);
});

test('bytes that are fetched again are hashed again', async (t) => {
  const sink = await openSink(t);
  sink.hashBy('sha-256');
  sink.write(0, objectBytes(mebibyte), 'host');
  sink.restart();
  write(sink, 0, 2 * mebibyte);
  assert.equal(await sink.digest('sha-256', 2 * mebibyte, never), sha256(bytes.subarray(0, 2 * mebibyte)));
});

test('pieces of a crc32c are joined: only bytes from before it was requested, or written twice, are read back', async (t) => {
  const file = new PartFile(path.join(await temporaryFolder(t), 'x'));
  t.after(() => file.close());
  let readBack = 0;
  const read = file.read.bind(file);
  file.read = (start, end, hash) => {
    readBack += end - start;
    read(start, end, hash);
  };
  const sink = new FileSink(file, {
    manifest: undefined,
    onDamaged: () => assert.fail('there is no manifest'),
  });
  const whole = hasher('crc32c');
  whole.update(bytes);
  const expected = whole.hex();
  write(sink, 0, 2 * mebibyte);
  sink.hashBy('crc32c');
  write(sink, 20 * mebibyte, 30 * mebibyte);
  write(sink, 10 * mebibyte, 15 * mebibyte);
  write(sink, 30 * mebibyte, bytes.length);
  write(sink, 2 * mebibyte, 10 * mebibyte);
  sink.follow(15 * mebibyte);
  write(sink, 15 * mebibyte, 20 * mebibyte);
  assert.equal(await sink.digest('crc32c', bytes.length, never), expected);
  assert.equal(readBack, 2 * mebibyte);

  sink.hashBy('crc32c');
  write(sink, 0, 10 * mebibyte);
  sink.write(25 * mebibyte, Buffer.alloc(3), 'host');
  write(sink, 20 * mebibyte, bytes.length);
  write(sink, 10 * mebibyte, 20 * mebibyte);
  assert.equal(await sink.digest('crc32c', bytes.length, never), expected);
  sink.hashBy('crc32c');
  write(sink, 0, bytes.length);
  sink.write(5 * mebibyte, Buffer.from('another byte'), 'host');
  assert.notEqual(await sink.digest('crc32c', bytes.length, never), expected);
});
