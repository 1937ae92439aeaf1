import { readFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync, zstdCompressSync } from 'node:zlib';
import type { FaultKind } from '@updraft/account/fault';
import type { UnpackerOptions } from '@updraft/archive';
import { base256, pax, tar, tarEntry } from './make-tar.ts';
import { oddCases } from './odd-cases.ts';

/** An archive and its expected outcome: a tree (`-> x` is a link, `/` a folder), or a fault and part of its message. */
export interface Case {
  name: string;
  bytes: Buffer;
  mode?: UnpackerOptions['mode'];
  expect?: UnpackerOptions['expect'];
  limits?: UnpackerOptions['limits'];
  tree?: Record<string, string>;
  ended?: 'no-end-blocks';
  kind?: string;
  fault?: [FaultKind, RegExp];
}

const fixture = (name: string): Buffer => readFileSync(path.join(import.meta.dirname, 'fixtures', name));
const long = `${'deep/'.repeat(30)}${'n'.repeat(120)}.txt`;
const plain = tar(
  { name: 'a.txt', data: 'alpha' },
  { name: 'd/', type: '5', mode: 0o755 },
  { name: 'd/b.txt', data: 'beta' },
);
const plainTree = { 'a.txt': 'alpha', 'd/b.txt': 'beta' };
const half = Math.floor(plain.length / 2);
/** The first bytes of a tar by xz and by bzip2; nothing reads further. */
const xz = Buffer.from('fd377a585a000004e6d6b4460200210116000000742fe5a3', 'hex');
const bzip2 = Buffer.from('425a68393141592653598f29693500018fc180001002000440200030cd340a506845', 'hex');
const byXz: Case['fault'] = ['archive-kind', /is compressed by xz, which Updraft does not unpack/];
const byBzip2: Case['fault'] = ['archive-kind', /is compressed by bzip2, which Updraft does not unpack/];

const good: Case[] = [
  { name: 'ustar', bytes: plain, tree: plainTree },
  {
    name: 'ustar prefix',
    bytes: tar({ name: 'x.txt', prefix: 'far/away', data: 'x' }),
    tree: { 'far/away/x.txt': 'x' },
  },
  {
    name: 'version 7, folders marked by a trailing slash',
    bytes: tar(
      { name: 'd/', type: '\0', magic: '' },
      { name: 'd/x', type: '\0', magic: '', data: 'old', prefix: 'not used' },
    ),
    tree: { 'd/x': 'old' },
  },
  {
    name: "GNU's magic has no prefix",
    bytes: tar({ name: 'x', magic: 'ustar  \0', prefix: '14000000000', data: 'g' }),
    tree: { x: 'g' },
  },
  {
    name: 'GNU long name and long link',
    bytes: tar(
      { type: 'L', name: '././@LongLink', data: `${long}\0` },
      { name: 'cut', data: 'long' },
      { type: 'K', data: `${long}\0` },
      { name: 'l', type: '2', link: 'cut' },
    ),
    tree: { [long]: 'long', l: `-> ${long}` },
  },
  {
    name: 'pax path, size and link path',
    bytes: tar(
      { type: 'x', data: pax({ path: long, size: '4', mtime: '1700000000.25' }) },
      { name: 'short', data: 'four', size: 0 },
      { type: 'x', data: pax({ linkpath: long }) },
      { name: 'l', type: '2', link: 'x' },
    ),
    tree: { [long]: 'four', l: `-> ${long}` },
  },
  {
    name: 'pax global header as git writes it',
    bytes: tar({ type: 'g', data: pax({ comment: 'abc' }) }, { name: 'x', data: 'x' }),
    tree: { x: 'x' },
  },
  {
    name: 'pax value cancelled',
    bytes: tar({ type: 'x', data: pax({ path: '' }) }, { name: 'x', data: 'x' }),
    tree: { x: 'x' },
  },
  {
    name: 'base-256 size and time',
    bytes: tar({ name: 'x', data: 'abc', size: base256(3n), mtime: base256(-1n) }),
    tree: { x: 'abc' },
  },
  {
    name: 'times out of range',
    bytes: tar(
      { type: 'x', data: pax({ mtime: '9'.repeat(400) }) },
      { name: 'x', data: 'x' },
      { name: 'd', type: '5', mtime: base256(2n ** 52n) },
    ),
    tree: { x: 'x', d: '/' },
  },
  {
    name: 'signed checksum',
    bytes: tar({ name: 'ümlaut', data: 'x', checksum: 'signed' }),
    tree: { ümlaut: 'x' },
  },
  {
    name: 'hard link',
    bytes: tar({ name: 'x', data: 'same' }, { name: 'd/y', type: '1', link: 'x', size: 99 }),
    tree: { x: 'same', 'd/y': 'same' },
  },
  {
    name: 'hard link to a symbolic link',
    bytes: tar({ name: 's', type: '2', link: 'x' }, { name: 't', type: '1', link: 's' }),
    tree: { s: '-> x', t: '-> x' },
  },
  {
    name: 'links that stay inside',
    bytes: tar(
      { name: 'd/up', type: '2', link: '../x' },
      { name: 'x', data: 'x' },
      { name: 'd/here', type: '2', link: '.' },
    ),
    tree: { x: 'x', 'd/up': '-> ../x', 'd/here': '-> .' },
  },
  {
    name: 'the last entry of a name wins',
    bytes: tar({ name: 'x', data: 'first' }, { name: 'x', data: 'last' }),
    expect: { files: 1, bytes: 4 },
    tree: { x: 'last' },
  },
  {
    name: 'replacing a file keeps its hard link',
    bytes: tar(
      { name: 'x', data: 'first' },
      { name: 'y', type: '1', link: 'x' },
      { name: 'x', data: 'last' },
    ),
    tree: { x: 'last', y: 'first' },
  },
  {
    name: 'a file replaces a link',
    bytes: tar({ name: 'x', type: '2', link: 'y' }, { name: 'x', data: 'file' }),
    tree: { x: 'file' },
  },
  {
    name: 'a link replaces a file',
    bytes: tar({ name: 'x', data: 'file' }, { name: 'x', type: '2', link: 'y' }),
    expect: { files: 0 },
    tree: { x: '-> y' },
  },
  {
    name: 'names below ./',
    bytes: tar({ name: './', type: '5' }, { name: './x', data: 'x' }, { name: './/d/./y', data: 'y' }),
    tree: { x: 'x', 'd/y': 'y' },
  },
  { name: 'an empty folder', bytes: tar({ name: 'd', type: '5' }), tree: { d: '/' } },
  {
    name: 'sizes around a block',
    bytes: tar(...[0, 1, 511, 512, 513, 1024].map((n) => ({ name: `f${n}`, data: 'x'.repeat(n) }))),
    tree: Object.fromEntries([0, 1, 511, 512, 513, 1024].map((n) => [`f${n}`, 'x'.repeat(n)])),
  },
  {
    name: 'volume label',
    bytes: tar({ name: 'LABEL', type: 'V' }, { name: 'x', data: 'x' }),
    tree: { x: 'x' },
  },
  {
    name: 'odd but harmless names',
    bytes: tar(
      { name: 'a\nb', data: '1' },
      { name: 'back\\slash', data: '2' },
      { name: '...', data: '3' },
      { name: 'c:d', data: '4' },
    ),
    tree: { 'a\nb': '1', 'back\\slash': '2', '...': '3', 'c:d': '4' },
  },
  {
    name: 'no end blocks',
    bytes: tarEntry({ name: 'x', data: 'x' }),
    ended: 'no-end-blocks',
    tree: { x: 'x' },
  },
  {
    name: 'one end block',
    bytes: Buffer.concat([tarEntry({ name: 'x', data: 'x' }), Buffer.alloc(512)]),
    ended: 'no-end-blocks',
    tree: { x: 'x' },
  },
  { name: 'trailing zeros', bytes: Buffer.concat([plain, Buffer.alloc(9000)]), tree: plainTree },
  { name: 'gzip', bytes: gzipSync(plain), kind: 'tar.gz', tree: plainTree },
  {
    name: 'gzip of two members and zeros',
    bytes: Buffer.concat([
      gzipSync(plain.subarray(0, half)),
      gzipSync(plain.subarray(half)),
      Buffer.alloc(100),
    ]),
    kind: 'tar.gz',
    tree: plainTree,
  },
  { name: 'zstd', bytes: zstdCompressSync(plain), mode: 'tar.zst', kind: 'tar.zst', tree: plainTree },
  {
    name: 'zstd of three frames, one skippable',
    bytes: Buffer.concat([
      Buffer.from('502a4d1803000000616263', 'hex'),
      zstdCompressSync(plain.subarray(0, half)),
      zstdCompressSync(plain.subarray(half)),
    ]),
    kind: 'tar.zst',
    tree: plainTree,
  },
  {
    name: 'nested',
    mode: 'nested',
    bytes: tar(
      { name: 'n01.tar', data: plain },
      { name: 'sub/n02.tar.gz', data: gzipSync(plain) },
      { name: 'readme', data: 'text' },
      { name: 'n03.tar', data: tar({ name: 'x', data: 'x' }, { name: 'y', type: '1', link: 'x' }) },
    ),
    tree: {
      'n01/a.txt': 'alpha',
      'n01/d/b.txt': 'beta',
      'sub/n02/a.txt': 'alpha',
      'sub/n02/d/b.txt': 'beta',
      readme: 'text',
      'n03/x': 'x',
      'n03/y': 'x',
    },
  },
  {
    name: 'nested in gzip',
    mode: 'nested',
    kind: 'tar.gz',
    bytes: gzipSync(tar({ name: 'n01.tar', data: plain })),
    tree: { 'n01/a.txt': 'alpha', 'n01/d/b.txt': 'beta' },
  },
  {
    name: 'a tar in a tar stays a file without nested',
    bytes: tar({ name: 'n01.tar', data: 'x' }),
    tree: { 'n01.tar': 'x' },
  },
  ...['deflated', 'stored', 'streamed', 'zip64'].map((how): Case => ({
    name: `zip, ${how}`,
    bytes: fixture(`${how}.zip`),
    kind: 'zip',
    tree: sampleTree('hello\n'),
  })),
  {
    name: 'zip, symbolic link',
    bytes: fixture('links.zip'),
    kind: 'zip',
    tree: sampleTree('-> b/hello.txt'),
  },
  { name: 'GNU tar, pax', bytes: fixture('pax.tar'), tree: sampleTree('-> b/hello.txt') },
];

const cutAt = (at: number): Buffer => plain.subarray(0, at);
const unsafe = (name: string, message: RegExp, ...entries: Parameters<typeof tar>): Case => ({
  name,
  bytes: tar(...entries),
  fault: ['archive-unsafe', message],
});
const damaged = (name: string, message: RegExp, bytes: Buffer): Case => ({
  name,
  bytes,
  fault: ['archive-damaged', message],
});

const bad: Case[] = [
  unsafe('absolute path', /"\/etc\/x" is an absolute path/, { name: '/etc/x', data: 'x' }),
  unsafe('.. in front', /leaves its folder/, { name: '../x', data: 'x' }),
  unsafe('.. in the middle', /leaves its folder/, { name: 'a/../../x', data: 'x' }),
  unsafe('drive letter', /drive letter/, { name: 'C:\\x', data: 'x' }),
  unsafe('zero byte in a pax path', /zero byte/, { type: 'x', data: pax({ path: 'a\0b' }) }, { name: 'x' }),
  unsafe('empty name', /has no name/, { name: '' }),
  unsafe('a file that is the folder itself', /replace the folder itself/, { name: '.', data: 'x' }),
  unsafe(
    'a part of a name too long',
    /longer than 255 bytes/,
    { type: 'L', data: 'n'.repeat(256) },
    { name: 'x' },
  ),
  unsafe(
    'a path too long',
    /longer than 3072 bytes/,
    { type: 'L', data: 'nnnn/'.repeat(700) },
    { name: 'x' },
  ),
  unsafe(
    'folders too deep',
    /more than 64 folders deep/,
    { type: 'L', data: `${'a/'.repeat(70)}x` },
    { name: 'x' },
  ),
  unsafe('name that is not UTF-8', /not UTF-8/, { name: Buffer.from([0x66, 0xff, 0xfe]) }),
  unsafe('character device', /a character device/, { name: 'null', type: '3' }),
  unsafe('named pipe', /a named pipe/, { name: 'pipe', type: '6' }),
  unsafe('unknown type', /unknown type "Q"/, { name: 'x', type: 'Q' }),
  unsafe('link to an absolute path', /leads to an absolute path/, {
    name: 'l',
    type: '2',
    link: '/etc/passwd',
  }),
  unsafe('link out of the folder', /leads out/, { name: 'd/l', type: '2', link: '../../x' }),
  unsafe(
    'link that leads out through another',
    /leads out/,
    { name: 'd/e', type: '2', link: '..' },
    { name: 'f', type: '2', link: 'd/e/..' },
  ),
  unsafe(
    'links that multiply',
    /not a folder|circle/,
    ...Array.from({ length: 30 }, (_, i) => ({ name: `l${i}`, type: '2', link: `l${i + 1}/../l${i + 1}/.` })),
  ),
  unsafe(
    'links in a circle',
    /circle/,
    { name: 'a', type: '2', link: 'b' },
    { name: 'b', type: '2', link: 'a' },
  ),
  unsafe(
    'writing through a link',
    /through the link "a"/,
    { name: 'a', type: '2', link: '.' },
    { name: 'a/x', data: 'x' },
  ),
  unsafe(
    'link over a folder',
    /folder and a file/,
    { name: 'a/x', data: 'x' },
    { name: 'a', type: '2', link: '.' },
  ),
  unsafe(
    'folder over a file',
    /"a" is both a file and a folder/,
    { name: 'a', data: 'x' },
    { name: 'a/x', data: 'x' },
  ),
  unsafe(
    'file over a folder',
    /"a" is both a folder and a file/,
    { name: 'a/x', data: 'x' },
    { name: 'a', data: 'x' },
  ),
  unsafe('hard link out of the folder', /leaves its folder/, { name: 'h', type: '1', link: '../canary' }),
  unsafe('hard link to an absolute path', /absolute/, { name: 'h', type: '1', link: '/etc/passwd' }),
  {
    name: 'absolute path in an inner tar',
    mode: 'nested',
    bytes: tar({ name: 'i.tar', data: tar({ name: '/x', data: 'x' }) }),
    fault: ['archive-unsafe', /i\.tar in case\.tar: .*absolute/],
  },
  {
    name: '.. in an inner tar',
    mode: 'nested',
    bytes: tar({ name: 'i.tar', data: tar({ name: '../x', data: 'x' }) }),
    fault: ['archive-unsafe', /leaves its folder/],
  },
  {
    name: 'too many entries',
    limits: { entries: 3 },
    bytes: tar({ name: 'a/b/c/d', data: 'x' }),
    fault: ['archive-unsafe', /more than 3 entries/],
  },
  {
    name: 'more than the disk can hold',
    bytes: tar({ name: 'x', size: base256(2n ** 52n) }),
    fault: ['disk-full', /4,503,599,627,370,496 bytes/],
  },
  damaged('hard link to nothing', /no such file comes before it/, tar({ name: 'h', type: '1', link: 'x' })),
  damaged('cut inside a header', /inside a header/, cutAt(1124)),
  damaged('cut inside data', /3 bytes short of the end of the file "a.txt"/, cutAt(514)),
  damaged('cut inside padding', /inside the padding/, cutAt(600)),
  damaged(
    'cut inside a pax header',
    /inside a header/,
    tar({ type: 'x', data: pax({ path: 'x' }) }).subarray(0, 520),
  ),
  damaged(
    'wrong checksum in a later header',
    /after "a" at byte 1,024 has a header with a wrong checksum/,
    tar({ name: 'a', data: 'a' }, { name: 'b', checksum: 1 }),
  ),
  damaged('invalid number', /unreadable number/, tar({ name: 'x', size: Buffer.from('zzzzzzzzzzz\0') })),
  damaged('negative size', /unreadable number/, tar({ name: 'x', size: base256(-5n) })),
  damaged('invalid pax header', /pax header/, tar({ type: 'x', data: '99 path=x\n' }, { name: 'x' })),
  damaged(
    'invalid pax size',
    /has an invalid size, "-4"/,
    tar({ type: 'x', data: pax({ size: '-4' }) }, { name: 'x' }),
  ),
  damaged('a name of two megabytes', /for a single name/, tar({ type: 'L', data: 'x', size: 2 ** 21 })),
  damaged('data after the end', /continues after its end mark/, Buffer.concat([plain, plain])),
  damaged(
    'one zero block between entries',
    /continues after its end mark/,
    Buffer.concat([tarEntry({ name: 'x' }), Buffer.alloc(512), tarEntry({ name: 'y' })]),
  ),
  damaged('empty', /is empty/, Buffer.alloc(0)),
  damaged('only zeros', /only zeros/, Buffer.alloc(10240)),
  damaged('gzip cut', /cannot be decompressed/, gzipSync(plain).subarray(0, -9)),
  damaged('gzip with a flipped bit', /cannot be decompressed/, flip(gzipSync(plain, { level: 0 }), 600)),
  damaged(
    'gzip followed by text',
    /decompressed|not gzip/,
    Buffer.concat([gzipSync(plain), Buffer.from('and more')]),
  ),
  damaged(
    'gzip followed by zeros and text',
    /not gzip/,
    Buffer.concat([gzipSync(plain), Buffer.alloc(9), Buffer.from('and more')]),
  ),
  damaged('zstd cut', /decompressed|inside a zstd frame/, zstdCompressSync(plain).subarray(0, -2)),
  damaged(
    'zstd followed by text',
    /not zstd/,
    Buffer.concat([zstdCompressSync(plain), Buffer.from('and more')]),
  ),
  damaged('zip cut', /before it is complete/, fixture('deflated.zip').subarray(0, -30)),
  damaged(
    'zip with a flipped bit',
    /checksum/,
    flip(fixture('stored.zip'), fixture('stored.zip').indexOf('hello\n') + 1),
  ),
  damaged(
    'zip followed by text',
    /continues after its end/,
    Buffer.concat([fixture('deflated.zip'), Buffer.from('text')]),
  ),
  damaged(
    'zip whose directory has another name',
    /directory that does not match the entry "a\/b\/jello.txt"/,
    withCentral((records) => records.map((record) => replaced(record, 'hello.txt', 'jello.txt'))),
  ),
  damaged(
    'zip whose directory has another checksum',
    /directory that does not match the entry "a\/numbers.txt"/,
    withCentral((records) =>
      records.map((record) => (record.includes('numbers') ? flip(record, 16) : record)),
    ),
  ),
  damaged(
    'zip whose directory lacks an entry',
    /lists (\d+) entries, states \1 and holds \d+/,
    withCentral((records) => records.slice(1)),
  ),
  damaged(
    'zip whose directory lacks an entry that it counts',
    /lists \d+ entries, states (\d+) and holds \1/,
    withCentral((records) => records.slice(1), 1),
  ),
  damaged(
    'zip whose directory lists an entry twice instead of another',
    /directory that does not match the entry/,
    withCentral(([first, , ...rest]) => [first as Buffer, first as Buffer, ...rest]),
  ),
  damaged(
    'zip that states more entries than it lists',
    /lists \d+ entries, states \d+ and holds/,
    withCentral((records) => records, 1),
  ),
  damaged(
    'zip whose descriptor has another checksum',
    /does not match its stated size or checksum/,
    flip(fixture('streamed.zip'), fixture('streamed.zip').indexOf('PK\x07\x08') + 4),
  ),
  { name: 'zip, encrypted', bytes: fixture('encrypted.zip'), fault: ['archive-kind', /encrypted/] },
  ...(['auto', 'tar', 'tar.gz'] as const).flatMap((mode) => [
    { name: `xz, unpacked as ${mode}`, mode, bytes: xz, fault: byXz },
    { name: `bzip2, unpacked as ${mode}`, mode, bytes: bzip2, fault: byBzip2 },
  ]),
  {
    name: 'xz in a tar',
    mode: 'nested',
    bytes: tar({ name: 'a.tar', data: plain }, { name: 'x.tar.xz', data: xz }),
    fault: byXz,
  },
  {
    name: 'zip declared as tar.gz',
    mode: 'tar.gz',
    bytes: fixture('deflated.zip'),
    fault: ['archive-kind', /is a zip archive, not tar\.gz/],
  },
  {
    name: 'gzip without a tar inside',
    bytes: gzipSync(Buffer.from('text '.repeat(200))),
    fault: ['archive-kind', /does not contain a tar archive/],
  },
  {
    name: 'HTML page',
    bytes: Buffer.from(`<!DOCTYPE html><html>${'x'.repeat(2818)}</html>`),
    fault: ['data-wrong', /is not an archive but an HTML page/],
  },
  {
    name: 'JSON',
    bytes: Buffer.from('{"error":"no such object"}'),
    fault: ['data-wrong', /JSON text/],
  },
  {
    name: 'other bytes',
    bytes: Buffer.alloc(2000, 0xee),
    fault: ['archive-kind', /begins with the bytes eeee/],
  },
  {
    name: 'fewer files than expected',
    bytes: plain,
    expect: { files: 3 },
    fault: ['data-unexpected', /holds 2 files, expected 3/],
  },
  {
    name: 'more files than expected',
    bytes: plain,
    expect: { files: 1 },
    fault: ['data-unexpected', /holds 2 files, expected 1/],
  },
  {
    name: 'fewer bytes than expected',
    bytes: plain,
    expect: { bytes: 10 },
    fault: ['data-unexpected', /holds 9 bytes, expected 10/],
  },
];

export const cases: readonly Case[] = [...good, ...bad, ...oddCases];

function flip(bytes: Buffer, at: number): Buffer {
  const copy = Buffer.from(bytes);
  copy[at] = (copy[at] ?? 0) ^ 1;
  return copy;
}

/** A zip with a changed central directory, which states `more` entries than it lists. */
function withCentral(change: (records: Buffer[]) => Buffer[], more = 0): Buffer {
  const zip = fixture('stored.zip');
  const [central, last] = [Buffer.from('PK\x01\x02'), Buffer.from('PK\x05\x06')];
  const starts: number[] = [];
  for (let at = zip.indexOf(central); at >= 0; at = zip.indexOf(central, at + 1)) starts.push(at);
  const endAt = zip.indexOf(last);
  const records = change(starts.map((at, i) => zip.subarray(at, starts[i + 1] ?? endAt)));
  const end = Buffer.from(zip.subarray(endAt));
  for (const at of [8, 10]) end.writeUInt16LE(records.length + more, at);
  return Buffer.concat([zip.subarray(0, starts[0]), ...records, end]);
}

function replaced(bytes: Buffer, text: string, other: string): Buffer {
  return Buffer.from(bytes.toString('latin1').replace(text, other), 'latin1');
}

function sampleTree(link: string): Record<string, string> {
  return {
    'a/b/hello.txt': 'hello\n',
    'a/b/run.sh': '#!/bin/sh\n',
    'a/empty': '',
    'a/numbers.txt': numbers(),
    'a/link': link,
  };
}

function numbers(): string {
  return `${Array.from({ length: 400 }, (_, i) => i + 1).join('\n')}\n`;
}
