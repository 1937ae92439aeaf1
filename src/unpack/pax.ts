import { isUtf8 } from 'node:buffer';

/** Pax records by keyword; an empty value takes an earlier one back. */
export type PaxRecords = ReadonlyMap<string, string>;

/** Reads `length keyword=value\n` records; nothing if the bytes are not such records or not UTF-8. */
export function parsePax(bytes: Buffer): PaxRecords | undefined {
  if (!isUtf8(bytes)) return undefined;
  const records = new Map<string, string>();
  let at = 0;
  while (at < bytes.length) {
    // Some writers fill the block up with zeros.
    if (bytes[at] === 0) break;
    const space = bytes.indexOf(0x20, at);
    const length = space === -1 ? NaN : decimal(bytes.toString('latin1', at, space));
    const end = at + length;
    const equals = bytes.indexOf(0x3d, space);
    if (!(end <= bytes.length) || bytes[end - 1] !== 0x0a || equals === -1 || equals >= end) return undefined;
    records.set(bytes.toString('utf8', space + 1, equals), bytes.toString('utf8', equals + 1, end - 1));
    at = end;
  }
  return records;
}

/** A pax decimal such as a size or a time; nothing if it is not one. */
export function paxNumber(value: string): number | undefined {
  return /^-?\d+(?:\.\d*)?$/.test(value) ? Number(value) : undefined;
}

function decimal(digits: string): number {
  return /^[1-9]\d{0,9}$/.test(digits) ? Number(digits) : NaN;
}
