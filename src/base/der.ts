/** Writes ASN.1 values in DER, the byte form of certificates. Each function gives one complete value. */

export function derValue(tag: number, ...contents: Uint8Array[]): Buffer {
  const body = Buffer.concat(contents);
  return Buffer.concat([Buffer.from([tag]), lengthBytes(body.length), body]);
}

export function derSequence(...items: Uint8Array[]): Buffer {
  return derValue(0x30, ...items);
}

export function derSet(...items: Uint8Array[]): Buffer {
  return derValue(0x31, ...items);
}

/** A non-negative integer from its big-endian bytes. */
export function derInteger(bytes: Uint8Array): Buffer {
  const first = bytes.findIndex((byte) => byte !== 0);
  const significant = first === -1 ? Buffer.from([0]) : bytes.subarray(first);
  // A set top bit would make the number negative.
  const padding = (significant[0] ?? 0) >= 0x80 ? Buffer.from([0]) : Buffer.alloc(0);
  return derValue(0x02, padding, significant);
}

export function derBoolean(value: boolean): Buffer {
  return derValue(0x01, Buffer.from([value ? 0xff : 0]));
}

export function derOctetString(bytes: Uint8Array): Buffer {
  return derValue(0x04, bytes);
}

/** `unusedBits` of the last byte do not belong to the string. */
export function derBitString(bytes: Uint8Array, unusedBits = 0): Buffer {
  return derValue(0x03, Buffer.from([unusedBits]), bytes);
}

export function derUtf8(text: string): Buffer {
  return derValue(0x0c, Buffer.from(text, 'utf8'));
}

/** An object identifier from its dotted form, as in `2.5.4.3`. */
export function derOid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return derValue(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** A moment, in the form X.509 asks for: two-digit years until 2049. */
export function derTime(milliseconds: number): Buffer {
  const digits = new Date(milliseconds).toISOString().replaceAll(/[-:T]|\.\d+/g, '');
  const short = Number(digits.slice(0, 4)) < 2050;
  return derValue(short ? 0x17 : 0x18, Buffer.from(short ? digits.slice(2) : digits, 'latin1'));
}

function lengthBytes(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 256)) bytes.unshift(rest % 256);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}
