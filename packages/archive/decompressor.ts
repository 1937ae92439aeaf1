import type { Gunzip, InflateRaw, ZstdDecompress } from 'node:zlib';
import { asFault, Fault } from './fault.ts';
import type { ByteSink } from './entry.ts';
import { checkRatio, type UnpackLimits } from './limits.ts';

/** Size of the pieces that come out. */
export const chunkSize = 256 * 1024;

/** Passes the output of one of Node's decompression streams, which work off the main thread, to a sink. */
export class Decompressor {
  readonly #archive: string;
  readonly #limits: UnpackLimits;
  readonly #next: ByteSink;
  readonly #stream: Gunzip | InflateRaw | ZstdDecompress;
  readonly #pumped: Promise<void>;
  #failure: Fault | undefined;
  #over = false;
  /** Wakes a write whose bytes will never be consumed. */
  #wake: () => void = () => undefined;
  #bytesIn = 0;

  constructor(
    stream: Gunzip | InflateRaw | ZstdDecompress,
    archive: string,
    next: ByteSink,
    limits: UnpackLimits,
  ) {
    this.#archive = archive;
    this.#limits = limits;
    this.#next = next;
    this.#stream = stream;
    this.#pumped = this.#pump();
  }

  /** Returns how many bytes were used: fewer than given once the compressed data ends. */
  async write(piece: Buffer): Promise<number> {
    const before = this.#stream.bytesWritten;
    this.#bytesIn += piece.length;
    if (!this.#over)
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
        this.#stream.write(piece, () => resolve());
      });
    if (this.#failure !== undefined) throw this.#failure;
    return this.#stream.bytesWritten - before;
  }

  /** Resolves when everything has been decompressed and passed on. */
  async end(): Promise<void> {
    if (!this.#over) this.#stream.end();
    await this.#pumped;
    if (this.#failure !== undefined) throw this.#failure;
  }

  destroy(): void {
    this.#stream.destroy();
  }

  /** Never rejects: a failure is thrown by the next write or by end. */
  async #pump(): Promise<void> {
    try {
      let bytesOut = 0;
      const source: AsyncIterable<Buffer> = this.#stream;
      const pieces = source[Symbol.asyncIterator]();
      for (;;) {
        const next = await this.#read(pieces);
        if (next.done) break;
        bytesOut += next.value.length;
        checkRatio(this.#archive, this.#bytesIn, bytesOut, this.#limits);
        await this.#next.write(next.value);
      }
    } catch (error) {
      this.#failure = asFault(error);
      this.#stream.destroy();
    }
    this.#over = true;
    this.#wake();
  }

  async #read(pieces: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer, unknown>> {
    try {
      return await pieces.next();
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      throw new Fault('archive-damaged', `${this.#archive}: cannot be decompressed: ${why}`, {
        about: this.#archive,
        cause: error,
      });
    }
  }
}
