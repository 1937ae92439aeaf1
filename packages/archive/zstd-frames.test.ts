import assert from 'node:assert/strict';
import { test } from 'node:test';
import { constants, zstdCompressSync } from 'node:zlib';
import { ZstdFrames } from './open-reader.ts';

const frames = [
  zstdCompressSync(Buffer.alloc(0)),
  zstdCompressSync('short'),
  zstdCompressSync(Buffer.alloc(300_000, 7)),
  zstdCompressSync(Buffer.from(Array.from({ length: 400_000 }, (_, i) => (i * i) % 253)), {
    params: { [constants.ZSTD_c_checksumFlag]: 1 },
  }),
  Buffer.from('5f2a4d1802000000abcd', 'hex'),
];

test('the end of every frame is found, whatever the piece size', () => {
  const bytes = Buffer.concat(frames);
  const ends = frames.map((_, i) => Buffer.concat(frames.slice(0, i + 1)).length);
  for (const size of [1, 3, 1000, bytes.length]) {
    const walker = new ZstdFrames();
    const found: number[] = [];
    for (let from = 0; from < bytes.length; from += size) {
      const piece = bytes.subarray(from, from + size);
      for (let at = 0; at < piece.length;) {
        at = walker.frameEnd(piece, at) ?? assert.fail('not zstd');
        if (walker.between) found.push(from + at);
      }
    }
    assert.deepEqual(found, ends, `pieces of ${size}`);
  }
});

test('a cut frame has not ended, and other bytes are not a frame', () => {
  const walker = new ZstdFrames();
  walker.frameEnd(frames[1]!.subarray(0, -1), 0);
  assert.equal(walker.between, false);
  assert.equal(new ZstdFrames().frameEnd(Buffer.from('some text'), 0), undefined);
});
