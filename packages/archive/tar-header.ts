import { isUtf8 } from 'node:buffer';

export const blockSize = 512;

/** A name as written: text, or the bytes if they are not UTF-8 (a long name may override it). */
export type Name = string | Buffer;

/** One header block, before long names and pax records are applied. */
export interface TarHeader {
  name: Name;
  /** The type flag; '0' for an old header without one. */
  type: string;
  size: number;
  mode: number;
  mtime: number;
  target: Name;
}

export type NotHeader = 'zeros' | 'not-a-header' | 'bad-number';

/** Reads the block at `at`: ustar, GNU and the older format without a magic. */
export function parseTarHeader(block: Buffer, at: number): TarHeader | NotHeader {
  const sum = blockSum(block, at);
  if (sum.unsigned === 0x20 * 8 && block[at + 148] === 0 && isZero(block, at)) return 'zeros';
  const stated = octal(block, at + 148, 8);
  // Some old writers summed signed bytes.
  if (stated !== sum.unsigned && stated !== sum.signed) return 'not-a-header';
  const size = tarNumber(block, at + 124, 12);
  const mode = tarNumber(block, at + 100, 8);
  const mtime = tarNumber(block, at + 136, 12);
  if (size === undefined || size < 0 || mode === undefined || mtime === undefined) return 'bad-number';
  const name = fullName(block, at);
  const target = readTextField(block, at + 157, 100);
  const flag = block[at + 156] ?? 0;
  return { name, type: flag === 0 ? '0' : String.fromCharCode(flag), size, mode, mtime, target };
}

/** A field, up to its first zero byte. */
export function readTextField(bytes: Buffer, at: number, length: number): Name {
  const zero = bytes.indexOf(0, at);
  const end = zero === -1 || zero > at + length ? Math.min(at + length, bytes.length) : zero;
  const decoded = bytes.toString('utf8', at, end);
  const isText = !decoded.includes('\ufffd') || isUtf8(bytes.subarray(at, end));
  return isText ? decoded : Buffer.from(bytes.subarray(at, end));
}

function fullName(block: Buffer, at: number): Name {
  const name = readTextField(block, at, 100);
  // With GNU's magic ("ustar  ") these bytes are not a prefix.
  if (block.toString('latin1', at + 257, at + 263) !== 'ustar\0') return name;
  const prefix = readTextField(block, at + 345, 155);
  if (prefix === '') return name;
  if (typeof prefix === 'string' && typeof name === 'string') return `${prefix}/${name}`;
  return Buffer.concat([Buffer.from(prefix), Buffer.from('/'), Buffer.from(name)]);
}

/** Both sums of the block, with spaces in its checksum field. */
function blockSum(block: Buffer, at: number): { unsigned: number; signed: number } {
  let unsigned = 0x20 * 8;
  let above = 0;
  for (let i = at; i < at + blockSize; i++) {
    const byte = i >= at + 148 && i < at + 156 ? 0 : (block[i] ?? 0);
    unsigned += byte;
    above += byte >> 7;
  }
  return { unsigned, signed: unsigned - 256 * above };
}

function isZero(block: Buffer, at: number): boolean {
  for (let i = at + 148; i < at + 156; i++) if (block[i] !== 0) return false;
  return true;
}

/** Octal, or GNU's base 256 if the first bit is set; undefined if it is neither. */
function tarNumber(block: Buffer, at: number, length: number): number | undefined {
  const first = block[at] ?? 0;
  if (first < 0x80) return octal(block, at, length);
  const negative = first === 0xff;
  let value = negative ? -1 : first & 0x7f;
  for (let i = at + 1; i < at + length; i++) value = value * 256 + (block[i] ?? 0);
  return Number.isSafeInteger(value) ? value : undefined;
}

/** Digits with spaces or zero bytes around them; byte by byte, since this runs several times for every file. */
function octal(block: Buffer, at: number, length: number): number | undefined {
  let i = at;
  const end = at + length;
  while (i < end && block[i] === 0x20) i++;
  let value = 0;
  for (; i < end; i++) {
    const digit = (block[i] ?? 0) - 0x30;
    if (digit < 0 || digit > 7) break;
    value = value * 8 + digit;
  }
  if (i < end && block[i] === 0) return value;
  while (i < end && block[i] === 0x20) i++;
  return i === end || block[i] === 0 ? value : undefined;
}
