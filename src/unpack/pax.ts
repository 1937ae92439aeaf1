/**
 * Reads `length keyword=value\n` records one by one; false if the bytes are not such records. Values are bytes: some
 * writers put file attributes there as they are.
 */
export function readPax(bytes: Buffer, take: (key: string, value: Buffer) => void): boolean {
  let at = 0;
  while (at < bytes.length) {
    // Some writers fill the block up with zeros.
    if (bytes[at] === 0) break;
    const space = bytes.indexOf(0x20, at);
    const length = space === -1 ? NaN : decimal(bytes.toString('latin1', at, space));
    const end = at + length;
    if (!(end <= bytes.length) || bytes[end - 1] !== 0x0a) return false;
    const equals = bytes.subarray(0, end).indexOf(0x3d, space);
    if (equals === -1) return false;
    take(bytes.toString('utf8', space + 1, equals), bytes.subarray(equals + 1, end - 1));
    at = end;
  }
  return true;
}

/** A pax decimal such as a size or a time; nothing if it is not one. */
export function paxNumber(value: string): number | undefined {
  return /^-?\d+(?:\.\d*)?$/.test(value) ? Number(value) : undefined;
}

function decimal(digits: string): number {
  return /^[1-9]\d{0,9}$/.test(digits) ? Number(digits) : NaN;
}
