import { createZstdDecompress } from 'node:zlib';
import { Fault } from '../fault/fault.ts';
import type { ByteSink } from './byte-sink.ts';
import { chunkSize, Decompressor } from './decompressor.ts';
import type { Limits } from './limits.ts';
import { ZstdFrames } from './zstd-frames.ts';

/** Unpacks zstd of any number of frames and hands the bytes on. */
export class UnzstdStage implements ByteSink {
  readonly #archive: string;
  readonly #next: ByteSink;
  readonly #decompressor: Decompressor;
  readonly #frames = new ZstdFrames();

  constructor(archive: string, next: ByteSink, limits: Limits) {
    this.#archive = archive;
    this.#next = next;
    this.#decompressor = new Decompressor(createZstdDecompress({ chunkSize }), archive, next, limits);
  }

  async write(piece: Buffer): Promise<void> {
    for (let at = 0; at < piece.length;) {
      const end = this.#frames.frameEnd(piece, at);
      if (end === undefined) throw this.#damaged('has bytes that are not zstd');
      const used = await this.#decompressor.write(piece.subarray(at, end));
      if (used !== end - at) throw this.#damaged('has a broken zstd frame');
      at = end;
    }
  }

  async end(): Promise<void> {
    await this.#decompressor.end();
    if (!this.#frames.between) throw this.#damaged('ends inside a zstd frame');
    await this.#next.end();
  }

  destroy(): void {
    this.#decompressor.destroy();
    this.#next.destroy();
  }

  #damaged(what: string): Fault {
    return new Fault('archive-damaged', `${this.#archive}: ${what}`, { about: this.#archive });
  }
}
