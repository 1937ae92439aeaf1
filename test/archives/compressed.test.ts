import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { needProgram } from '../servers/debian-packages.ts';
import { temporaryFolder } from '../temporary-folder.ts';
import { compare } from './differential.ts';
import { tar } from './make-tar.ts';

const plain = tar({ name: 'a.txt', data: 'a'.repeat(3000) }, { name: 'b.txt', data: 'b' });

/** A copy with the byte at `at` changed; negative counts from the end. */
const flipped = (bytes: Buffer, at: number): Buffer => {
  const copy = Buffer.from(bytes);
  const index = at < 0 ? bytes.length + at : at;
  copy[index] = (copy[index] ?? 0) ^ 0x55;
  return copy;
};

/** Files like those in the test suite of zstd, by what is odd about each. */
function files(zstd: Pack): Record<string, Buffer> {
  const [half, rest] = [plain.subarray(0, 2048), plain.subarray(2048)];
  const frame = zstd(plain);
  const skippable = Buffer.from('502a4d1803000000616263', 'hex');
  return {
    'zstd/with a checksum': zstd(plain, '--check'),
    'zstd/without a checksum': zstd(plain, '--no-check'),
    'zstd/without its size': zstd(plain, '--no-content-size'),
    'zstd/two frames': Buffer.concat([zstd(half), zstd(rest)]),
    'zstd/a skippable frame first': Buffer.concat([skippable, frame]),
    'zstd/a skippable frame between': Buffer.concat([zstd(half), skippable, zstd(rest)]),
    'zstd/an empty frame first': Buffer.concat([zstd(Buffer.alloc(0)), frame]),
    'zstd/trailing bytes': Buffer.concat([frame, Buffer.from('rubbish')]),
    'zstd/wrong checksum': flipped(frame, -1),
    'zstd/wrong magic': flipped(frame, 2),
    'zstd/cut in its checksum': frame.subarray(0, -2),
    'zstd/cut in its block': frame.subarray(0, -12),
    'zstd/second frame cut': Buffer.concat([zstd(half), zstd(rest).subarray(0, -5)]),
  };
}

type Pack = (bytes: Buffer, ...flags: string[]) => Buffer;

test('compressed archives like those in the suite of zstd are read as by bsdtar, or the difference is listed', async (t) => {
  const bsdtar = needProgram(t, 'bsdtar', ['libarchive-tools']);
  const zstd = needProgram(t, 'zstd', ['zstd']);
  if (bsdtar === undefined || zstd === undefined) return;
  const by =
    (program: string): Pack =>
    (bytes, ...flags) =>
      spawnSync(program, ['-c', ...flags], { input: bytes }).stdout;
  const folder = await temporaryFolder(t, {});
  const odd: string[] = [];
  const counts = new Map<string, number>();
  for (const [name, bytes] of Object.entries(files(by(zstd)))) {
    const file = path.join(folder, name.replaceAll(/\W/g, '-'));
    writeFileSync(file, bytes);
    const { result, reason, detail } = await compare(name, bytes, file, bsdtar);
    counts.set(result, (counts.get(result) ?? 0) + 1);
    if (result !== 'same' && reason === undefined) odd.push(`${result}: ${name}: ${detail}`);
  }
  t.diagnostic(JSON.stringify(Object.fromEntries(counts)));
  assert.deepEqual(odd, []);
});
