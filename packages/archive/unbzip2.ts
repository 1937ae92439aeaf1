import { setImmediate as nextTurn } from 'node:timers/promises';
import bzip2 from '@openpgp/unbzip2-stream/lib/bzip2.js';
import { Fault } from './fault.ts';
import { chunkSize, ByteQueue } from './pull-stage.ts';
import type { ByteSink } from './entry.ts';
import { checkRatio, type UnpackLimits } from './budget.ts';

/** More than the biggest block takes with the longest codes. */
const maxBlockBytes = 4 << 20;
const noBytes = Buffer.alloc(0);

/** Thrown by the bit reader when it runs out of bytes. */
const cut = new Error('more bytes are needed');

/** Decompresses bzip2 of any number of streams; the checksums of blocks and streams are verified. */
export class Unbzip2Stage implements ByteSink {
  readonly #archive: string;
  readonly #next: ByteSink;
  readonly #limits: UnpackLimits;
  readonly #queue = new ByteQueue();
  #work = new Int32Array(0);
  /** Block size in units of 100,000 bytes; undefined between two streams. */
  #level: number | undefined;
  #checksum: number | null = null;
  /** Bits used of the first byte in the queue. */
  #bit = 0;
  /** Bytes to collect before the next step: they surely contain the next block. */
  #wanted = 4;
  #bytesOut = 0;
  #isOver = false;
  #isDestroyed = false;

  constructor(archive: string, next: ByteSink, limits: UnpackLimits) {
    this.#archive = archive;
    this.#next = next;
    this.#limits = limits;
  }

  async write(piece: Buffer): Promise<void> {
    this.#queue.push(piece);
    while (this.#queue.length >= this.#wanted && !this.#isDestroyed) await this.#step(false);
  }

  async end(): Promise<void> {
    while (this.#queue.length > 0 && !this.#isDestroyed) await this.#step(true);
    if (this.#level !== undefined) throw this.#cut();
    await this.#next.end();
  }

  destroy(): void {
    this.#isDestroyed = true;
    this.#next.destroy();
  }

  /** Reads a header, a block, or what follows the last stream. */
  async #step(isEnd: boolean): Promise<void> {
    const bytes = this.#queue.take(this.#queue.length);
    const bits = new BitReader(bytes, this.#bit);
    let pieces: Buffer[] = [];
    try {
      if (this.#level === undefined) this.#between(bytes, bits);
      else pieces = this.#block(this.#level, bits);
      this.#queue.unread(bytes.length - bits.at);
      this.#bit = bits.bit;
    } catch (error) {
      if (error !== cut) throw error;
      if (isEnd || this.#wanted >= maxBlockBytes) throw this.#cut();
      this.#queue.unread(bytes.length);
      this.#wanted = maxBlockBytes;
      return;
    }
    this.#wanted = this.#level === undefined ? 4 : 25_000 + 100_000 * this.#level;
    for (const piece of pieces) {
      this.#bytesOut += piece.length;
      checkRatio(this.#archive, this.#queue.pushed, this.#bytesOut, this.#limits);
      await this.#next.write(piece);
    }
    // A block takes a tenth of a second: yield to the event loop.
    await nextTurn();
  }

  #between(bytes: Buffer, bits: BitReader): void {
    if (this.#isOver || (this.#queue.pushed > bytes.length && bytes[0] === 0)) {
      this.#isOver = true;
      if (bytes.some((byte) => byte !== 0)) throw this.#damaged('has bytes after its end that are not bzip2');
      bits.at = bytes.length;
      return;
    }
    try {
      this.#level = bzip2.header(bits.read);
      this.#checksum = 0;
    } catch (error) {
      if (error === cut) throw error;
      throw this.#damaged('has bytes that are not bzip2');
    }
  }

  /** The bytes of the next block; none at the end of the stream. */
  #block(level: number, bits: BitReader): Buffer[] {
    const size = 100_000 * level;
    if (this.#work.length < size) this.#work = new Int32Array(size);
    const pieces: Buffer[] = [];
    let piece = noBytes;
    let used = 0;
    const put = (byte: number): void => {
      if (used === piece.length) {
        pieces.push((piece = Buffer.allocUnsafe(chunkSize)));
        used = 0;
      }
      piece[used++] = byte;
    };
    try {
      this.#checksum = bzip2.decompress(bits.read, put, this.#work, size, this.#checksum);
    } catch (error) {
      if (error === cut) throw error;
      throw this.#cannotDecode(error);
    }
    if (this.#checksum === null) this.#level = undefined;
    const last = pieces.pop();
    if (last !== undefined) pieces.push(last.subarray(0, used));
    return pieces;
  }

  #cannotDecode(cause: unknown): Fault {
    const about = this.#archive;
    if (String(cause).includes('obsolete'))
      return new Fault(
        'archive-kind',
        `${about}: has blocks written by bzip2 before 0.9.5, which Updraft does not unpack`,
        { about, cause, fix: 'repack: bzip2 -dc OLD.tar.bz2 | zstd > NEW.tar.zst' },
      );
    return this.#damaged(
      'has a wrong checksum or bytes that cannot be decompressed ' +
        `before byte ${this.#queue.pushed.toLocaleString('en-US')}`,
      cause,
    );
  }

  #cut(): Fault {
    return this.#damaged(`ends at byte ${this.#queue.pushed.toLocaleString('en-US')}, before it is complete`);
  }

  #damaged(what: string, cause?: unknown): Fault {
    return new Fault('archive-damaged', `${this.#archive}: ${what}`, { about: this.#archive, cause });
  }
}

/** Reads bits, most significant first. */
class BitReader {
  readonly #bytes: Buffer;
  /** The byte being read, and the bits used of it. */
  at = 0;
  bit: number;

  constructor(bytes: Buffer, bit: number) {
    this.#bytes = bytes;
    this.bit = bit;
  }

  /** Runs for every symbol: for speed it makes no calls and reads no fields in its loop. */
  readonly read = (count: number | null): number => {
    let { at, bit } = this;
    const bytes = this.#bytes;
    let result = 0;
    for (let left = count ?? (8 - bit) % 8; left > 0;) {
      if (at >= bytes.length) throw cut;
      const free = 8 - bit;
      const taken = free < left ? free : left;
      result = (result << taken) | (((bytes[at] ?? 0) >> (free - taken)) & ((1 << taken) - 1));
      bit += taken;
      left -= taken;
      if (bit === 8) {
        bit = 0;
        at++;
      }
    }
    this.at = at;
    this.bit = bit;
    return result;
  };
}
