import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { cases } from '../../test/archives/cases.ts';
import { tar } from '../../test/archives/make-tar.ts';
import { inspectHead } from './open-unpacker.ts';

const big = 'x'.repeat(100_000);

test('first bytes that are not an archive, or one that cannot be unpacked, are reported', async () => {
  const look = async (head: Buffer, mode: 'auto' | 'nested' | 'zip' = 'auto') =>
    await inspectHead(head, { name: 'a.tar', mode, whole: false });
  const pipe = tar({ name: 'x', data: 'x' }, { name: 'p', type: '6' }, { name: 'y', data: big });
  assert.match((await look(pipe.subarray(0, 4096)))?.message ?? '', /a named pipe/);
  assert.match((await look(gzipSync(pipe).subarray(0, -20)))?.message ?? '', /a named pipe/);
  assert.match((await look(pipe, 'zip'))?.message ?? '', /is a tar archive, not zip/);
  assert.equal((await look(Buffer.from('<!DOCTYPE html><html></html>')))?.kind, 'data-wrong');
  const nested = tar({ name: 'i.tar', data: tar({ name: '/x', data: 'x' }) });
  assert.match((await look(nested, 'nested'))?.message ?? '', /i\.tar in a\.tar: .*absolute/);
});

test('the beginning of a good archive passes, wherever it is cut', async () => {
  for (const { name, bytes, mode = 'auto', fault, limits } of cases)
    if (fault === undefined && limits === undefined)
      for (const part of [0.3, 0.7, 1])
        assert.equal(
          await inspectHead(bytes.subarray(0, Math.max(1, Math.floor(bytes.length * part))), {
            name: 'case.tar',
            mode,
            whole: part === 1,
          }),
          undefined,
          `${name}, ${part}`,
        );
});
