import assert from 'node:assert/strict';
import { appendFileSync, closeSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { test, type TestContext } from 'node:test';
import { livePageBytes, readLivePage } from '../../job/live-page.ts';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { LiveCopy } from './training-watch.ts';

async function open(t: TestContext) {
  const folder = await temporaryFolder(t);
  const [log, shown] = [path.join(folder, 'out.log'), path.join(folder, 'shown')];
  const to = openSync(shown, 'a');
  t.after(() => closeSync(to));
  return { log, to, copy: new LiveCopy(log, to), page: () => readLivePage(readFileSync(shown)) };
}

test('the page is the log while it is short, even if a letter is cut in two', async (t) => {
  const { log, copy, page } = await open(t);
  copy.copy();
  assert.equal(page(), undefined);
  appendFileSync(log, Buffer.from('é').subarray(0, 1));
  copy.copy();
  appendFileSync(log, Buffer.from('é').subarray(1));
  copy.copy();
  assert.deepEqual(page(), { from: 0, bytes: Buffer.from('é') });
});

test('however much is printed, the page stays small and holds the end of the log', async (t) => {
  const { log, copy, page } = await open(t);
  for (let line = 0; line < 40; line++) {
    appendFileSync(log, `${String(line).padEnd(40_000, '.')}\n`);
    copy.copy();
    const { from, bytes } = page()!;
    assert.ok(bytes.length <= livePageBytes);
    assert.deepEqual(bytes, readFileSync(log).subarray(from));
    assert.ok(line < 4 || bytes.length > livePageBytes / 2 - 1);
  }
  appendFileSync(log, Buffer.alloc(3 * livePageBytes, 'x'));
  copy.copy();
  assert.equal(page()?.bytes.length, livePageBytes / 2);
});

test('a second training of the attempt and a log that starts over are followed', async (t) => {
  const { log, to, copy, page } = await open(t);
  writeFileSync(log, 'first\n');
  copy.copy();
  appendFileSync(log, 'second\n');
  new LiveCopy(log, to).copy();
  assert.equal(page()?.bytes.toString(), 'first\nsecond\n');
  rmSync(log);
  copy.copy();
  writeFileSync(log, 'x\n');
  copy.copy();
  assert.deepEqual(page(), { from: 0, bytes: Buffer.from('x\n') });
});

test('the page shows no more of the log than allowed, and the rest later', async (t) => {
  const { log, copy, page } = await open(t);
  appendFileSync(log, 'one two');
  copy.copy(4);
  assert.deepEqual(page(), { from: 0, bytes: Buffer.from('one ') });
  copy.copy(7);
  assert.deepEqual(page(), { from: 0, bytes: Buffer.from('one two') });
});
