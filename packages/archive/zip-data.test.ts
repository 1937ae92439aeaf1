import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../test/temporary-folder.ts';
import { openUnpacker } from './open-unpacker.ts';

test('a stored entry full of false ends takes time linear in its length', async (t) => {
  const into = path.join(await temporaryFolder(t, {}), 'out');
  const header = Buffer.alloc(30);
  header.writeUInt32LE(0x04034b50, 0);
  header.writeUInt16LE(8, 6);
  header.writeUInt16LE(1, 26);
  // Each of these has the right size and a wrong checksum.
  const ends = Array.from({ length: 50_000 }, (_, at) => {
    const end = Buffer.alloc(20);
    end.writeUInt32LE(0x08074b50, 0);
    end.writeUInt32LE(1, 4);
    end.writeUInt32LE(at * 20, 8);
    end.writeUInt32LE(at * 20, 12);
    end.writeUInt32LE(0x04034b50, 16);
    return end;
  });
  const unpacker = openUnpacker({ name: 'a.zip', mode: 'auto', into });
  const start = process.cpuUsage();
  await assert.rejects(async () => {
    await unpacker.write(Buffer.concat([header, Buffer.from('a'), ...ends]));
    await unpacker.finish();
  });
  await unpacker.abort();
  const { user, system } = process.cpuUsage(start);
  // Time that grows with the square is minutes; a busy machine, with other tests in this process, triples it.
  assert.ok((user + system) / 1e6 < 20);
  assert.deepEqual(await readdir(into).catch(() => []), []);
});
