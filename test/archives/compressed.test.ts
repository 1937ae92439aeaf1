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

/** Files like those in the test suites of xz and zstd, by what is odd about each. */
function files(xz: Pack, zstd: Pack): Record<string, Buffer> {
  const [half, rest] = [plain.subarray(0, 2048), plain.subarray(2048)];
  const [whole, frame] = [xz(plain), zstd(plain)];
  const two = Buffer.concat([xz(half), xz(rest)]);
  const skippable = Buffer.from('502a4d1803000000616263', 'hex');
  return {
    'xz/checked by CRC32': xz(plain, '--check=crc32'),
    'xz/without a check': xz(plain, '--check=none'),
    'xz/checked by SHA-256': xz(plain, '--check=sha256'),
    'xz/in blocks': xz(plain, '--block-size=1024'),
    'xz/two streams': two,
    'xz/two streams with padding': Buffer.concat([xz(half), Buffer.alloc(8), xz(rest), Buffer.alloc(4)]),
    'xz/padding of three bytes': Buffer.concat([whole, Buffer.alloc(3)]),
    'xz/an empty stream first': Buffer.concat([xz(Buffer.alloc(0)), whole]),
    'xz/trailing bytes': Buffer.concat([whole, Buffer.from('rubbish')]),
    'xz/delta filter': xz(plain, '--delta=dist=1', '--lzma2'),
    'xz/ARM64 filter': xz(plain, '--arm64', '--lzma2'),
    'xz/PowerPC filter': xz(plain, '--powerpc', '--lzma2'),
    'xz/x86 filter': xz(plain, '--x86', '--lzma2'),
    'xz/wrong magic': flipped(whole, 1),
    'xz/wrong stream flags': flipped(whole, 7),
    'xz/wrong header checksum': flipped(whole, 9),
    'xz/wrong block header': flipped(whole, 14),
    'xz/wrong data': flipped(whole, 40),
    'xz/wrong check': flipped(whole, whole.length - 12 - 12),
    'xz/wrong index': flipped(whole, -16),
    'xz/wrong backward size': flipped(whole, -8),
    'xz/wrong footer': flipped(whole, -1),
    'xz/cut in its footer': whole.subarray(0, -6),
    'xz/cut in its data': whole.subarray(0, 60),
    'xz/second stream cut': two.subarray(0, -20),
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

test('compressed archives like those in the suites of xz and zstd are read as by bsdtar, or the difference is listed', async (t) => {
  const bsdtar = needProgram(t, 'bsdtar', ['libarchive-tools']);
  const [xz, zstd] = [needProgram(t, 'xz', ['xz-utils']), needProgram(t, 'zstd', ['zstd'])];
  if (bsdtar === undefined || xz === undefined || zstd === undefined) return;
  const by =
    (program: string): Pack =>
    (bytes, ...flags) =>
      spawnSync(program, ['-c', ...flags], { input: bytes }).stdout;
  const folder = await temporaryFolder(t, {});
  const odd: string[] = [];
  const counts = new Map<string, number>();
  for (const [name, bytes] of Object.entries(files(by(xz), by(zstd)))) {
    const file = path.join(folder, name.replaceAll(/\W/g, '-'));
    writeFileSync(file, bytes);
    const { result, reason, detail } = await compare(name, bytes, file, bsdtar);
    counts.set(result, (counts.get(result) ?? 0) + 1);
    if (result !== 'same' && reason === undefined) odd.push(`${result}: ${name}: ${detail}`);
  }
  t.diagnostic(JSON.stringify(Object.fromEntries(counts)));
  assert.deepEqual(odd, []);
});
