import { blockSize, parseTarHeader } from './tar-header.ts';

export type ArchiveKind = 'tar' | 'tar.gz' | 'tar.zst' | 'tar.xz' | 'tar.bz2' | 'zip';

const endings: readonly (readonly [ending: string, kind: ArchiveKind])[] = [
  ['.tar', 'tar'],
  ['.tar.gz', 'tar.gz'],
  ['.tgz', 'tar.gz'],
  ['.tar.zst', 'tar.zst'],
  ['.tzst', 'tar.zst'],
  ['.tar.xz', 'tar.xz'],
  ['.txz', 'tar.xz'],
  ['.tar.bz2', 'tar.bz2'],
  ['.tbz2', 'tar.bz2'],
  ['.tbz', 'tar.bz2'],
  ['.zip', 'zip'],
];

/** The archive a name promises, if it promises one that can be unpacked. */
export function archiveKind(name: string): ArchiveKind | undefined {
  return splitArchiveName(name)?.kind;
}

/** A name without its archive ending, and the kind that ending stands for. */
export function splitArchiveName(name: string): { stem: string; kind: ArchiveKind } | undefined {
  const lower = name.toLowerCase();
  const found = endings.find(([ending]) => lower.endsWith(ending) && lower.length > ending.length);
  return found && { stem: name.slice(0, -found[0].length), kind: found[1] };
}

/** What bytes are: an archive, or something else in words; text is what servers send instead of data. */
export type Seen = { kind: ArchiveKind } | { other: string; text?: true };

const magics: readonly (readonly [hex: string, seen: Seen])[] = [
  ['1f8b', { kind: 'tar.gz' }],
  ['28b52ffd', { kind: 'tar.zst' }],
  ['fd377a585a00', { kind: 'tar.xz' }],
  ['504b0304', { kind: 'zip' }],
  ['504b0506', { kind: 'zip' }],
  ['425a68', { kind: 'tar.bz2' }],
  ['377abcaf271c', { other: 'a 7-Zip archive, which Updraft does not unpack' }],
  ['526172211a07', { other: 'a RAR archive, which Updraft does not unpack' }],
  ['5d0000', { other: 'an .lzma file, which Updraft does not unpack' }],
  ['1f9d', { other: 'a file packed by compress, which Updraft does not unpack' }],
  ['894844460d0a1a0a', { other: 'an HDF5 file' }],
  ['25504446', { other: 'a PDF document' }],
];

/** Bytes `seeArchive` wants to see, if the file has as many. */
export const headBytes = blockSize;

/** Tells what a file is by its first bytes. */
export function seeArchive(head: Buffer): Seen {
  if (head.length >= blockSize && typeof parseTarHeader(head, 0) === 'object') return { kind: 'tar' };
  const hex = head.toString('hex', 0, 16);
  const magic = magics.find(([start]) => hex.startsWith(start));
  if (magic !== undefined) return magic[1];
  // A skippable frame may come first in a zstd file.
  if (/^5[0-9a-f]2a4d18/.test(hex)) return { kind: 'tar.zst' };
  if (head.toString('latin1', 257, 262) === 'ustar' || head.every((byte) => byte === 0))
    return { kind: 'tar' };
  return seeText(head);
}

function seeText(head: Buffer): Seen {
  const text = head
    .toString('utf8')
    .replace(/^\ufeff/, '')
    .trimStart()
    .toLowerCase();
  if (/^(?:<!doctype html|<html|<head|<body|<title)/.test(text)) return { other: 'an HTML page', text: true };
  if (text.startsWith('<?xml'))
    return { other: text.includes('<html') ? 'an HTML page' : 'an XML document', text: true };
  if (/^[{[]\s*["{[\]}]/.test(text)) return { other: 'JSON text', text: true };

  if (!/[\x00-\x08\x0e-\x1f\ufffd]/.test(text))
    return { other: `text that begins with ${JSON.stringify(text.slice(0, 40))}`, text: true };
  return { other: `a file that begins with the bytes ${head.toString('hex', 0, 8)}, which no archive does` };
}
