import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Case } from './cases.ts';
import { makeZip } from './make-zip.ts';
import { pax, tar } from './make-tar.ts';

/** Valid archives as other programs write them, and those that are refused with an exact reason. */

const fixture = (name: string): Buffer => readFileSync(path.join(import.meta.dirname, 'fixtures', name));
const xattr = Buffer.from([0x01, 0xff, 0xfe, 0x3d, 0x0a, 0x80]);
/** 99 letters and then one of two bytes, which the header's 100 bytes cut. */
const cutName = `${'n'.repeat(99)}é.txt`;

const readable: Case[] = [
  {
    name: 'binary file attributes, as bsdtar and macOS write them',
    bytes: tar(
      {
        type: 'x',
        data: pax({
          mtime: '1700000000.5',
          'LIBARCHIVE.xattr.user.x': 'Af/+',
          'SCHILY.xattr.user.x': xattr,
          path: 'é',
        }),
      },
      { name: 'x', data: 'x' },
    ),
    tree: { é: 'x' },
  },
  {
    name: 'an empty pax header',
    bytes: tar({ type: 'x', data: '' }, { name: 'x', data: 'x' }, { type: 'g', data: '' }),
    tree: { x: 'x' },
  },
  {
    name: 'a GNU long name whose header cuts a character',
    bytes: tar(
      { type: 'L', name: '././@LongLink', data: `${cutName}\0`, magic: 'ustar  \0' },
      { name: cutName, data: 'x', magic: 'ustar  \0' },
      { type: 'K', data: `${cutName}\0`, magic: 'ustar  \0' },
      { name: 'l', type: '2', link: cutName, magic: 'ustar  \0' },
    ),
    tree: { [cutName]: 'x', l: `-> ${cutName}` },
  },
  {
    name: 'more folders than are held in memory',
    limits: { foldersHeld: 2 },
    bytes: tar(
      ...['a/', 'b/', 'a/c/', 'd/'].map((name) => ({ name, type: '5' })),
      ...['a/x', 'b/x', 'a/c/x', 'd/x', 'a/y'].map((name) => ({ name, data: name })),
    ),
    tree: { 'a/x': 'a/x', 'b/x': 'b/x', 'a/c/x': 'a/c/x', 'd/x': 'd/x', 'a/y': 'a/y' },
  },
];

const refusedOnes: Case[] = [
  {
    name: 'a name in Latin-1',
    bytes: tar({ name: Buffer.from('caf\xe9', 'latin1'), data: 'x' }),
    fault: ['archive-unsafe', /"café" \(read as Latin-1\) has a name that is not UTF-8/],
  },
  {
    name: 'a pax path that is not UTF-8',
    bytes: tar({ type: 'x', data: pax({ path: Buffer.from([0xe9]) }) }, { name: 'x' }),
    fault: ['archive-unsafe', /not UTF-8/],
  },
  ...[
    ...['gnu', '0.0', '0.1', '1.0'].map((how) => ({ how, bytes: fixture(`sparse-${how}.tar.gz`) })),
    { how: 'star', bytes: tar({ name: 'x', type: 'S' }) },
    { how: 'Solaris', bytes: tar({ type: 'x', data: pax({ 'SUN.holesdata': ' 0 5' }) }, { name: 'x' }) },
    { how: 'a map', bytes: tar({ type: 'x', data: pax({ 'GNU.sparse.map': '' }) }, { name: 'x' }) },
  ].map(({ how, bytes }): Case => ({
    name: `sparse file, ${how}`,
    bytes,
    ...(bytes[0] === 0x1f ? { kind: 'tar.gz' as const } : {}),
    fault: [
      'archive-unsafe',
      /the entry "(?:x|hole|pieces)" is a sparse file, which Updraft does not unpack/,
    ],
  })),
  {
    name: 'more than 16 MiB of global pax headers',
    bytes: tar(
      ...Array.from({ length: 3 }, () => ({ type: 'g', data: pax({ comment: 'x'.repeat(6 << 20) }) })),
      { name: 'x' },
    ),
    fault: ['archive-unsafe', /more than 16 MiB of global pax headers/],
  },
  {
    name: 'too many links',
    limits: { links: 2 },
    bytes: tar(...['a', 'b', 'c'].map((name) => ({ name, type: '2', link: 'x' }))),
    fault: ['archive-unsafe', /holds more than 2 symbolic links/],
  },
  {
    name: 'zip that lists one entry twice and omits another',
    bytes: makeZip({ name: 'a', data: 'x' }, { name: 'b', data: 'x', listedAs: 0 }),
    fault: ['archive-damaged', /does not match the entry "a"/],
  },
  {
    name: 'zip with another method in its directory',
    bytes: makeZip({ name: 'a', data: 'x', listedMethod: 8 }),
    fault: ['archive-damaged', /does not match the entry "a"/],
  },
  {
    name: 'zip with a wrong position of its directory',
    bytes: makeZip({ name: 'a', data: 'x' }, { directoryAt: 3 }),
    fault: ['archive-damaged', /wrong position for its directory/],
  },
  {
    name: 'zip with data in a folder',
    bytes: makeZip({ name: 'a/', data: 'x' }),
    fault: ['archive-damaged', /has a folder "a\/" with data/],
  },
  {
    name: 'zip compressed by zstd',
    bytes: makeZip({ name: 'a', data: 'x', method: 93 }),
    fault: ['archive-kind', /compressed by zstd/],
  },
  {
    name: 'zip, stored without its size',
    bytes: makeZip({ name: 'a', data: 'alpha', descriptor: 16 }),
    fault: ['archive-kind', /the entry "a" is stored without its size/],
  },
  {
    name: 'zip, a name that is not UTF-8',
    bytes: makeZip({ name: Buffer.from([0x81, 0x2e, 0xe3]), data: 'x' }),
    fault: ['archive-unsafe', /an entry's name is not UTF-8/],
  },
];

export const oddCases: readonly Case[] = [...readable, ...refusedOnes];
