import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { Fault } from '../fault/fault.ts';
import type { ByteSink } from './byte-sink.ts';
import { checkRatio, type Limits } from './limits.ts';
import { LzWindow } from './lz-window.ts';
import { Lzma2Decoder } from './lzma2-decoder.ts';
import type { Pull } from './pull-stage.ts';
import { openXzCheck } from './xz-check.ts';

const headerMagic = Buffer.from('fd377a585a00', 'hex');
const footerMagic = Buffer.from('YZ');
/** `xz -9` uses 64 MiB; the window takes twice the dictionary. */
const mostDictionary = 128 << 20;

/** Reads .xz: one or more streams of blocks, every checksum and the index verified, bytes handed to `next`. */
export class Unxz {
  readonly #archive: string;
  readonly #next: ByteSink;
  readonly #limits: Limits;
  #window: LzWindow | undefined;
  #bytesIn = 0;
  #bytesOut = 0;

  constructor(archive: string, next: ByteSink, limits: Limits) {
    this.#archive = archive;
    this.#next = next;
    this.#limits = limits;
  }

  *parse(): Pull {
    let first = true;
    for (;;) {
      const start = yield* this.#bytes(4, !first);
      // Streams may be joined, with zeros in between to a multiple of four.
      if (!first && start.equals(Buffer.alloc(4))) continue;
      first = false;
      yield* this.#stream(Buffer.from(start));
    }
  }

  *#stream(start: Buffer): Pull {
    const header = Buffer.concat([start, yield* this.#bytes(8)]);
    if (!header.subarray(0, 6).equals(headerMagic))
      throw this.#damaged('has bytes that are not xz after its end');
    const flags = header.subarray(6, 8);
    if (crc32(flags) !== header.readUInt32LE(8))
      throw this.#damaged('has a wrong checksum in its stream header');
    const seen = createHash('sha256');
    let blocks = 0;
    let indexSize: number;
    for (;;) {
      const size = (yield* this.#bytes(1))[0] as number;
      if (size === 0) {
        indexSize = yield* this.#index(blocks, seen.digest('hex'));
        break;
      }
      blocks++;
      seen.update(yield* this.#block(size, flags));
    }
    yield* this.#footer(indexSize, flags);
  }

  /** Gives what the index has to say of the block. */
  *#block(size: number, flags: Buffer): Pull<string> {
    const from = this.#bytesIn - 1;
    const header = this.#blockHeader(size, yield* this.#bytes((size + 1) * 4 - 1));
    const check = openXzCheck(flags[1] as number);
    if (check === undefined || flags[0] !== 0) throw this.#unknown('a checksum type');
    const decoder = new Lzma2Decoder(this.#windowOf(dictionarySize(header.dictionary)));
    const dataFrom = this.#bytesIn;
    let bytesOut = 0;
    for (;;) {
      const piece = yield* this.#chunk(decoder);
      if (piece === undefined) break;
      check.update(piece);
      bytesOut += piece.length;
      this.#bytesOut += piece.length;
      checkRatio(this.#archive, this.#bytesIn, this.#bytesOut, this.#limits);
      const waiting = this.#next.write(piece);
      if (waiting !== undefined) yield waiting;
    }
    const packed = this.#bytesIn - dataFrom;
    const unpadded = this.#bytesIn - from + check.size;
    yield* this.#zeros((4 - (packed % 4)) % 4);
    const right = check.matches(yield* this.#bytes(check.size));
    if (!right || (header.packed ?? packed) !== packed || (header.unpacked ?? bytesOut) !== bytesOut)
      throw this.#damaged(`has a block whose checksum or size is wrong, before byte ${this.#where()}`);
    return `${unpadded}:${bytesOut} `;
  }

  #blockHeader(size: number, rest: Buffer): XzBlockHeader {
    const header = parseBlockHeader(size, rest);
    if (header === undefined) throw this.#damaged(`has a broken block header before byte ${this.#where()}`);
    if (header.filters !== undefined) throw this.#unknown(`the filter ${header.filters}`);
    if (dictionarySize(header.dictionary) > mostDictionary)
      throw this.#unknown(
        `a dictionary of ${dictionarySize(header.dictionary).toLocaleString('en-US')} bytes`,
      );
    return header;
  }

  /** Blocks mostly share a size, so they share the memory. */
  #windowOf(dictionary: number): LzWindow {
    if (this.#window?.dictionary !== dictionary) this.#window = new LzWindow(dictionary);
    return this.#window;
  }

  *#chunk(decoder: Lzma2Decoder): Pull<Buffer | undefined> {
    const control = (yield* this.#bytes(1))[0] as number;
    if (control === 0) return undefined;
    const head = Lzma2Decoder.parseHead(control, yield* this.#bytes(Lzma2Decoder.headSize(control)));
    const piece = decoder.decode(head, yield* this.#bytes(head.packed));
    if (piece === undefined) throw this.#damaged(`cannot be decompressed before byte ${this.#where()}`);
    return piece;
  }

  *#index(blocks: number, expected: string): Pull<number> {
    const from = this.#bytesIn - 1;
    let sum = crc32(Buffer.from([0]));
    const add = (bytes: Buffer): void => void (sum = crc32(bytes, sum));
    const seen = createHash('sha256');
    const stated = yield* this.#number(add);
    for (let i = 0; i < Math.min(stated, blocks); i++)
      seen.update(`${yield* this.#number(add)}:${yield* this.#number(add)} `);
    const padding = yield* this.#bytes((4 - ((this.#bytesIn - from) % 4)) % 4);
    add(padding);
    const size = this.#bytesIn - from + 4;
    const right = (yield* this.#bytes(4)).readUInt32LE() === sum;
    if (!right || stated !== blocks || seen.digest('hex') !== expected)
      throw this.#damaged('has an index that does not fit its blocks');
    return size;
  }

  *#footer(indexSize: number, flags: Buffer): Pull {
    const footer = yield* this.#bytes(12);
    const right =
      crc32(footer.subarray(4, 10)) === footer.readUInt32LE() &&
      (footer.readUInt32LE(4) + 1) * 4 === indexSize &&
      footer.subarray(8, 10).equals(flags) &&
      footer.subarray(10).equals(footerMagic);
    if (!right) throw this.#damaged('has a broken stream footer');
  }

  /** A number in seven-bit groups, lowest first. */
  *#number(add: (bytes: Buffer) => void): Pull<number> {
    let value = 0;
    for (let scale = 1; scale < 2 ** 56; scale *= 128) {
      const byte = yield* this.#bytes(1);
      add(byte);
      value += ((byte[0] as number) & 0x7f) * scale;
      if ((byte[0] as number) < 0x80) return value;
    }
    throw this.#damaged('has a number in its index that is too big');
  }

  *#zeros(count: number): Pull {
    if (!(yield* this.#bytes(count)).equals(Buffer.alloc(count)))
      throw this.#damaged(`has padding that is not zero before byte ${this.#where()}`);
  }

  *#bytes(count: number, mayEnd = false): Pull<Buffer> {
    this.#bytesIn += count;
    return yield mayEnd ? { bytes: count, mayEnd } : { bytes: count };
  }

  #where(): string {
    return this.#bytesIn.toLocaleString('en-US');
  }

  #damaged(what: string): Fault {
    return new Fault('archive-damaged', `${this.#archive}: ${what}`, { about: this.#archive });
  }

  #unknown(what: string): Fault {
    return new Fault('archive-kind', `${this.#archive}: uses ${what}, which Updraft does not unpack`, {
      about: this.#archive,
      fix: 'Compress it again with plain xz, gzip or zstd.',
    });
  }
}

interface XzBlockHeader {
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
function parseBlockHeader(size: number, rest: Buffer): XzBlockHeader | undefined {
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
function dictionarySize(code: number): number {
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
