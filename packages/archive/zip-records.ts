import { isUtf8 } from 'node:buffer';
import { crc32 } from 'node:zlib';

/** A zip's records by their first four bytes. */
export const signatures = {
  local: 0x04034b50,
  central: 0x02014b50,
  end: 0x06054b50,
  end64: 0x06064b50,
  locator64: 0x07064b50,
  descriptor: 0x08074b50,
} as const;

/** Bytes of each record after its signature, before its variable part. */
export const fixedSizes = { local: 26, central: 42, end: 18, end64: 8, locator64: 16 } as const;

/** What local and central headers have in common. */
export interface ZipEntry {
  /** Undefined if it is marked as UTF-8 but is not. */
  name: string | undefined;
  encrypted: boolean;
  /** Sizes and checksum follow the data in a descriptor. */
  described: boolean;
  method: number;
  crc: number;
  packed: number;
  unpacked: number;
  /** Sizes have 64 bits. */
  wide: boolean;
  mtime: number;
}

export interface CentralEntry extends ZipEntry {
  /** Where the local header is. */
  offset: number;
  /** The Unix mode, if stated. */
  mode: number | undefined;
}

/** How many bytes follow the fixed part. */
export const localRest = (fixed: Buffer): number => fixed.readUInt16LE(22) + fixed.readUInt16LE(24);

export const centralRest = (fixed: Buffer): number =>
  fixed.readUInt16LE(24) + fixed.readUInt16LE(26) + fixed.readUInt16LE(28);

export const parseLocal = (fixed: Buffer, rest: Buffer): ZipEntry =>
  parseCommon(fixed, 2, rest, fixed.readUInt16LE(22), fixed.readUInt16LE(24));

export function parseCentral(fixed: Buffer, rest: Buffer): CentralEntry {
  const [nameSize, extraSize] = [fixed.readUInt16LE(24), fixed.readUInt16LE(26)];
  const entry = parseCommon(fixed, 4, rest, nameSize, extraSize);
  const unix = fixed.readUInt16LE(0) >> 8 === 3;
  const offset = fixed.readUInt32LE(38);
  const wide = extraField(rest.subarray(nameSize, nameSize + extraSize), 1);
  const before = [20, 16].filter((at) => fixed.readUInt32LE(at) === 0xffffffff).length * 8;
  return {
    ...entry,
    offset:
      offset === 0xffffffff && wide !== undefined && wide.length >= before + 8 ? big(wide, before) : offset,
    mode: unix ? fixed.readUInt16LE(36) : undefined,
  };
}

/** A 64-bit number; inexact beyond 2^53, where it only needs to be huge. */
export const big = (bytes: Buffer, at: number): number =>
  bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;

/** `at` is the offset of the flags; what follows them is the same in both kinds of header. */
function parseCommon(fixed: Buffer, at: number, rest: Buffer, nameSize: number, extraSize: number): ZipEntry {
  const flags = fixed.readUInt16LE(at);
  const name = rest.subarray(0, nameSize);
  const extra = rest.subarray(nameSize, nameSize + extraSize);
  const wide = extraField(extra, 1);
  let [packed, unpacked] = [fixed.readUInt32LE(at + 12), fixed.readUInt32LE(at + 16)];
  let used = 0;
  if (unpacked === 0xffffffff && wide !== undefined && wide.length >= 8)
    unpacked = big(wide, (used += 8) - 8);
  if (packed === 0xffffffff && wide !== undefined && wide.length >= used + 8) packed = big(wide, used);
  return {
    name: nameOf(name, (flags & 0x800) !== 0, extra),
    encrypted: (flags & 0x41) !== 0,
    described: (flags & 8) !== 0,
    method: fixed.readUInt16LE(at + 2),
    crc: fixed.readUInt32LE(at + 8),
    packed,
    unpacked,
    wide: wide !== undefined,
    mtime: modified(fixed, at + 4, extra),
  };
}

/**
 * A name is UTF-8 if marked or if it is valid UTF-8: many writers do not mark it. Others are in code page 437; Info-ZIP
 * adds the Unicode name in an extra field.
 */
function nameOf(name: Buffer, isUnicode: boolean, extra: Buffer): string | undefined {
  const unicode = extraField(extra, 0x7075);
  if (unicode !== undefined && unicode.length > 5 && unicode.readUInt32LE(1) === crc32(name)) {
    const text = unicode.subarray(5);
    return isUtf8(text) ? text.toString('utf8') : undefined;
  }
  if (isUtf8(name)) return name.toString('utf8');
  return isUnicode
    ? undefined
    : Array.from(name, (byte) => cp437[byte - 128] ?? String.fromCharCode(byte)).join('');
}

/** Code page 437 from byte 128; below that it is ASCII. */
const cp437 =
  'ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u00a0';

function extraField(extra: Buffer, id: number): Buffer | undefined {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2))
    if (extra.readUInt16LE(at) === id) return extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2));
  return undefined;
}

/** Unix seconds from the extra field, else DOS time, which has no time zone: ours is assumed. */
function modified(fixed: Buffer, at: number, extra: Buffer): number {
  const unix = extraField(extra, 0x5455);
  if (unix !== undefined && unix.length >= 5 && (unix.readUInt8(0) & 1) === 1) return unix.readInt32LE(1);
  const [time, date] = [fixed.readUInt16LE(at), fixed.readUInt16LE(at + 2)];
  const day = [1980 + (date >> 9), ((date >> 5) & 15) - 1, date & 31] as const;
  return new Date(...day, time >> 11, (time >> 5) & 63, (time & 31) * 2).getTime() / 1000;
}
