import { createGunzip } from 'node:zlib';
import { Fault } from '../fault/fault.ts';
import type { ByteSink } from './byte-sink.ts';
import { chunkSize, Decompressor } from './decompressor.ts';
import type { Limits } from './limits.ts';

/** Unpacks gzip, also of several members, and hands the bytes on. Only zeros may follow the last member. */
export class GunzipStage implements ByteSink {
  readonly #archive: string;
  readonly #next: ByteSink;
  readonly #decompressor: Decompressor;
  #over = false;

  constructor(archive: string, next: ByteSink, limits: Limits) {
    this.#archive = archive;
    this.#next = next;
    this.#decompressor = new Decompressor(createGunzip({ chunkSize }), archive, next, limits);
  }

  async write(piece: Buffer): Promise<void> {
    const used = this.#over ? 0 : await this.#decompressor.write(piece);
    if (used === piece.length) return;
    this.#over = true;
    if (piece.subarray(used).some((byte) => byte !== 0))
      throw new Fault('archive-damaged', `${this.#archive}: has bytes that are not gzip after its end`, {
        about: this.#archive,
      });
  }

  async end(): Promise<void> {
    await this.#decompressor.end();
    await this.#next.end();
  }

  destroy(): void {
    this.#decompressor.destroy();
    this.#next.destroy();
  }
}
