import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { setImmediate as turn } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { sortFiles } from './dropped-logs.ts';

test('once the head of a compressed file is read, nothing waits for its end', async (t) => {
  const line = '000 (12.000.000) 2026-01-02 03:04:05 Job submitted from host: <192.0.2.1:9618>\n...\n';
  const file = { name: 'a.log.gz', blob: new Blob([gzipSync(line.repeat(5000))]), writtenAt: 0 };
  const timers = mock.fn((resolve: () => void) => setImmediate(resolve));
  t.mock.method(globalThis, 'setTimeout', timers);
  const { logs } = await sortFiles([file]);
  assert.deepEqual(logs, [file]);
  for (let turns = 0; turns < 20; turns++) await turn();
  const before = timers.mock.callCount();
  for (let turns = 0; turns < 20; turns++) await turn();
  assert.equal(timers.mock.callCount(), before);
});
