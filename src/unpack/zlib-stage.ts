import type { Transform } from 'node:stream';
import { createGunzip, createZstdDecompress } from 'node:zlib';
import { Fault } from '../fault/fault.ts';
import type { ByteSink } from './byte-sink.ts';
import { checkRatio, type Limits } from './limits.ts';

const pieceSize = 256 * 1024;

/** Unpacks gzip (also of several members) or zstd and hands the bytes on; the work is done off the main thread. */
export class ZlibStage implements ByteSink {
  readonly #archive: string;
  readonly #limits: Limits;
  readonly #next: ByteSink;
  readonly #stream: Transform;
  /** Fails as soon as anything does; is done when all has been handed on. */
  readonly #pumped: Promise<void>;
  #bytesIn = 0;

  constructor(kind: 'gzip' | 'zstd', archive: string, next: ByteSink, limits: Limits) {
    this.#archive = archive;
    this.#limits = limits;
    this.#next = next;
    this.#stream =
      kind === 'gzip'
        ? createGunzip({ chunkSize: pieceSize })
        : createZstdDecompress({ chunkSize: pieceSize });
    this.#pumped = this.#pump();
    // Whoever writes next gets the failure; until then it must not count as unhandled.
    this.#pumped.catch(() => undefined);
  }

  async write(piece: Buffer): Promise<void> {
    this.#bytesIn += piece.length;
    await this.#unlessFailed((done) => this.#stream.write(piece, done));
  }

  async end(): Promise<void> {
    this.#stream.end();
    await this.#pumped;
    await this.#next.end();
  }

  destroy(): void {
    this.#stream.destroy();
    this.#next.destroy();
  }

  /** The stream's own errors reach us through the pump, which also knows those of the next stage. */
  async #unlessFailed(start: (done: () => void) => void): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#pumped.catch(reject);
      start(resolve);
    });
    await Promise.race([this.#pumped, Promise.resolve()]);
  }

  async #pump(): Promise<void> {
    let bytesOut = 0;
    const source: AsyncIterable<Buffer> = this.#stream;
    const pieces = source[Symbol.asyncIterator]();
    for (;;) {
      const { value, done } = await this.#read(pieces);
      if (done) return;
      bytesOut += value.length;
      checkRatio(this.#archive, this.#bytesIn, bytesOut, this.#limits);
      await this.#next.write(value);
    }
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
