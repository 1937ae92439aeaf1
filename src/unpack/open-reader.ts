import { createGunzip, createZstdDecompress } from 'node:zlib';
import { Fault } from '../fault/fault.ts';
import type { ArchiveKind } from '../base/archive-kinds.ts';
import { chunkSize, Decompressor } from './decompressor.ts';
import type { ByteSink, EntrySink } from './entry.ts';
import type { Limits } from './limits.ts';
import { PullStage } from './pull-stage.ts';
import { TarReader } from './tar-reader.ts';
import { Unbzip2Stage } from './unbzip2.ts';
import { UnxzStage } from './unxz.ts';
import { ZipReader } from './zip-reader.ts';
import { ZstdFrames } from './zstd-frames.ts';

export interface Reader {
  /** Where the archive's bytes go. */
  input: ByteSink;
  /** Whether the archive has said that it is over. */
  ended(): boolean;
}

/** Opens what is needed to read one kind of archive; `archive` names it in messages. */
export function openReader(kind: ArchiveKind, archive: string, sink: EntrySink, limits: Limits): Reader {
  const tar = new TarReader(archive, sink, limits);
  const ended = (): boolean => tar.ended;
  switch (kind) {
    case 'tar':
      return { input: tar, ended };
    case 'tar.gz':
      return { input: new GunzipStage(archive, tar, limits), ended };
    case 'tar.zst':
      return { input: new UnzstdStage(archive, tar, limits), ended };
    case 'tar.xz':
      return { input: new UnxzStage(archive, tar, limits), ended };
    case 'tar.bz2':
      return { input: new Unbzip2Stage(archive, tar, limits), ended };
    case 'zip': {
      const zip = new ZipReader(archive, sink, limits);
      return { input: new PullStage(archive, (queue) => zip.parse(queue)), ended: () => zip.ended };
    }
  }
}

/** Unpacks gzip, also of several members, and hands the bytes on. Only zeros may follow the last member. */
class GunzipStage implements ByteSink {
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

/** Unpacks zstd of any number of frames and hands the bytes on. */
class UnzstdStage implements ByteSink {
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
