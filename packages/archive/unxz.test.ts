import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { test } from 'node:test';
import { Fault } from './fault.ts';
import { defaultUnpackLimits } from './budget.ts';
import { UnxzStage } from './unxz.ts';

const noXz = spawnSync('xz', ['--version']).status !== 0 && 'xz is not installed';

/** Text, noise and runs: they compress to literals, matches and repeated matches. */
function sample(size: number): Buffer {
  let state = 12345;
  const next = (): number => (state = (Math.imul(state, 1103515245) + 12345) >>> 0) >>> 16;
  const parts: Buffer[] = [];
  for (let length = 0; length < size;) {
    const kind = next() % 3;
    const part =
      kind === 0
        ? Buffer.from(Array.from({ length: next() % 3000 }, () => next() & 255))
        : kind === 1
          ? Buffer.from(`line ${next() % 50} of the text\n`.repeat(next() % 80))
          : Buffer.alloc(next() % 5000, next() & 255);
    parts.push(part);
    length += part.length;
  }
  return Buffer.concat(parts);
}

async function decode(packed: Buffer, pieceSize: number): Promise<Buffer> {
  const out: Buffer[] = [];
  const next = {
    write: (piece: Buffer) => void out.push(Buffer.from(piece)),
    end: () => undefined,
    destroy: () => undefined,
  };
  const stage = new UnxzStage('x.xz', next, defaultUnpackLimits);
  for (let at = 0; at < packed.length; at += pieceSize)
    await stage.write(packed.subarray(at, at + pieceSize));
  await stage.end();
  return Buffer.concat(out);
}

const ways = [
  ['-0'],
  ['-6'],
  ['-9e'],
  ['--lzma2=dict=4KiB'],
  ['--lzma2=lc=0,lp=4,pb=0'],
  ['--lzma2=lc=4,lp=0,pb=4,mf=bt2'],
  ['--block-size=100KiB', '-T2'],
  ['--check=none'],
  ['--check=crc32'],
  ['--flush-timeout=1'],
];

for (const way of ways)
  test(`what xz ${way.join(' ')} packs comes out byte for byte`, { skip: noXz }, async () => {
    const bytes = sample(400_000);
    const packed = spawnSync('xz', ['-c', ...way], { input: bytes, maxBuffer: 1 << 26 }).stdout;
    for (const pieceSize of [packed.length, 8191])
      assert.ok((await decode(packed, pieceSize)).equals(bytes), `pieces of ${pieceSize}`);
  });

test('a dictionary of a gigabyte is refused, with the command to repack', { skip: noXz }, async () => {
  const packed = spawnSync('xz', ['-c', '--lzma2=preset=0,dict=1GiB'], { input: 'small' }).stdout;
  await assert.rejects(decode(packed, 100), {
    kind: 'archive-kind',
    message: /dictionary of more than 64 MiB/,
    fix: /xz -dc .* \| zstd/,
  });
});

test('no flipped bit changes the output unnoticed', { skip: noXz }, async () => {
  const bytes = sample(300).subarray(0, 300);
  const packed = spawnSync('xz', ['-c', '-0'], { input: bytes }).stdout;
  let found = 0;
  for (let bit = 0; bit < packed.length * 8; bit++) {
    const wrong = Buffer.from(packed);
    wrong[bit >> 3]! ^= 1 << (bit & 7);
    try {
      assert.ok((await decode(wrong, wrong.length)).equals(bytes), `bit ${bit}`);
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      found++;
    }
  }
  assert.ok(found > packed.length * 7);
});

test(
  'an archive destroyed before or after its first bytes does not block the next',
  { skip: noXz },
  async () => {
    const packed = spawnSync('xz', ['-c'], { input: 'small' }).stdout;
    const nothing = { write: () => undefined, end: () => undefined, destroy: () => undefined };
    new UnxzStage('x.xz', nothing, defaultUnpackLimits).destroy();
    assert.equal((await decode(packed, 100)).toString(), 'small');
    const begun = new UnxzStage('x.xz', nothing, defaultUnpackLimits);
    await begun.write(packed.subarray(0, 30));
    begun.destroy();
    assert.equal((await decode(packed, 100)).toString(), 'small');
  },
);

test('a failing sink stops the decoding and frees the decoder', { skip: noXz }, async () => {
  const packed = spawnSync('xz', ['-c'], { input: sample(400_000), maxBuffer: 1 << 26 }).stdout;
  const full = {
    write: () => {
      throw new Fault('disk-full', 'full');
    },
    end: () => undefined,
    destroy: () => undefined,
  };
  const stage = new UnxzStage('x.xz', full, defaultUnpackLimits);
  await assert.rejects(stage.write(packed), { kind: 'disk-full' });
  assert.equal((await decode(packed, 1000)).length, sample(400_000).length);
});
