import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from '../../../test/temporary-folder.ts';
import { isCutZip } from './copy-tree.ts';

test('a file that begins as a zip and has no end is cut, and nothing else is', async (t) => {
  const file = path.join(await temporaryFolder(t), 'model.pt');
  const isCut = (...parts: (string | Buffer)[]): boolean => {
    writeFileSync(file, Buffer.concat(parts.map((part) => Buffer.from(part as string, 'latin1'))));
    return isCutZip(file);
  };
  const [begin, end] = ['PK\x03\x04 tensors', 'PK\x05\x06'.padEnd(20, 'x')];
  assert.equal(isCut(begin), true);
  assert.equal(isCut(begin, end, '\0\0'), false);
  assert.equal(isCut(begin, end, '\x05\0hello'), false, 'with a comment');
  assert.equal(isCut(begin, end, '\xff\xff', Buffer.alloc(65_535)), false, 'with the longest comment');
  assert.equal(isCut(begin, end, '\0\0', begin), true, 'a second archive, cut');
  assert.equal(isCut(begin, end), true, 'within its last record');
  assert.equal(isCut(begin, end, '\0\0', begin, end, '\0\0'), false, 'two archives in one file');
  for (const other of ['', 'PK', 'weights', 'PK\x05\x06']) assert.equal(isCut(other), false, other);
});
