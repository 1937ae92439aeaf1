import { crc32 } from 'node:zlib';

export interface XzBlockHeader {
  /** Sizes, where the header states them. */
  packed?: number;
  unpacked?: number;
  /** LZMA2's code for its dictionary size. */
  dictionary: number;
  /** Filters other than LZMA2 alone, in words. */
  filters?: string;
}

const lzma2 = 0x21;
const filterNames: Readonly<Record<number, string>> = {
  0x03: 'delta',
  0x04: 'x86',
  0x05: 'PowerPC',
  0x06: 'IA-64',
  0x07: 'ARM',
  0x08: 'ARM-Thumb',
  0x09: 'SPARC',
  0x0a: 'ARM64',
  0x0b: 'RISC-V',
};

/** Reads a block header without its first byte `size`; nothing if it is broken. */
export function parseBlockHeader(size: number, rest: Buffer): XzBlockHeader | undefined {
  const body = rest.subarray(0, -4);
  if (crc32(body, crc32(Buffer.from([size]))) !== rest.readUInt32LE(body.length)) return undefined;
  const flags = body[0] ?? 0;
  const numbers = new Numbers(body, 1);
  const packed = (flags & 0x40) === 0 ? undefined : numbers.next();
  const unpacked = (flags & 0x80) === 0 ? undefined : numbers.next();
  const filter = numbers.next();
  const [properties, dictionary] = [numbers.next(), numbers.next()];
  if (numbers.broken || (flags & 0x3c) !== 0) return undefined;
  const sizes = { ...(packed !== undefined && { packed }), ...(unpacked !== undefined && { unpacked }) };
  if (filter !== lzma2 || (flags & 3) !== 0)
    return { ...sizes, dictionary: 0, filters: filterNames[filter] ?? `number ${filter}` };
  if (properties !== 1 || dictionary > 40) return undefined;
  return { ...sizes, dictionary };
}

/** The dictionary size LZMA2's code stands for: 2^n or 2^n + 2^(n-1). */
export function dictionarySize(code: number): number {
  return code === 40 ? 0xffffffff : (2 | (code & 1)) * 2 ** (11 + (code >> 1));
}

/** Numbers in seven-bit groups, one after the other. */
class Numbers {
  readonly #bytes: Buffer;
  #at: number;
  broken = false;

  constructor(bytes: Buffer, at: number) {
    this.#bytes = bytes;
    this.#at = at;
  }

  next(): number {
    let value = 0;
    for (let scale = 1; scale < 2 ** 56; scale *= 128) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) break;
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) return value;
    }
    this.broken = true;
    return 0;
  }
}
