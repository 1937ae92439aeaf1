import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Algorithm } from '../proof/digest.ts';
import type { Manifest } from '../proof/manifest.ts';
import { ChunkCheck, fileHash, type FileHash } from '../proof/verify.ts';
import type { PartFile } from './part-file.ts';
import type { OnDamaged, Sink } from './sink.ts';

interface FileSinkOptions {
  manifest: Manifest | undefined;
  onDamaged: OnDamaged;
  onRestart?: () => void;
}

/** Writes each byte to its place in the `.part` file, in any order, and verifies it on the way. */
export class FileSink implements Sink {
  readonly before = Infinity;
  readonly maxSegment = Infinity;
  readonly alignment: number;
  readonly #file: PartFile;
  readonly #options: FileSinkOptions;
  #check: ChunkCheck | undefined;
  #hash: FileHash | undefined;
  #beforeSize: number | undefined;
  #rewrites = false;
  #replaced = false;

  constructor(file: PartFile, options: FileSinkOptions) {
    this.#file = file;
    this.#options = options;
    this.alignment = options.manifest?.chunkBytes ?? 1;
    this.#beginProof();
  }

  begin(size: number | undefined): void {
    if (size !== undefined) this.#file.reserve(size);
    // If no server says the size, go on without it.
    const isFirst = this.#beforeSize === undefined;
    this.#beforeSize = isFirst && size === undefined ? this.#file.blindLimit() : Infinity;
  }

  get beforeSize(): number {
    return this.#beforeSize ?? Infinity;
  }

  write(offset: number, chunk: Buffer, server: string): void {
    if (!this.#rewrites || this.#file.differs(offset, chunk)) {
      this.#file.write(offset, chunk);
      this.#replaced = true;
    }
    this.#hash?.wrote(offset, chunk);
    this.#check?.wrote(offset, chunk, server);
  }

  discard(): 'kept' | 'dropped' {
    return this.#check === undefined ? 'dropped' : 'kept';
  }

  rewrite(): () => boolean {
    this.#rewrites = true;
    this.#replaced = false;
    return () => {
      const was = this.#replaced;
      this.#replaced = false;
      return was;
    };
  }

  restart(): boolean {
    this.#rewrites = false;
    this.#beforeSize = undefined;
    this.#file.restart();
    this.#beginProof();
    this.#options.onRestart?.();
    return true;
  }

  /** Chooses the digest to compute while bytes arrive; undefined for none. */
  hashBy(algorithm: Algorithm | undefined): void {
    if (this.#hash?.algorithm !== algorithm)
      this.#hash = algorithm === undefined ? undefined : fileHash(algorithm);
  }

  /** Everything before `end` has arrived: hashes more of it, a little at a time. */
  follow(end: number): void {
    this.#hash?.follow(this.#file, end);
  }

  /** Digest of the whole file; reads back what was not hashed on the way, yielding to the event loop. */
  async digest(algorithm: Algorithm, size: number, signal: AbortSignal): Promise<string> {
    this.hashBy(algorithm);
    const hash = this.#hash as FileHash;
    while (!hash.follow(this.#file, size)) {
      await nextTurn();
      signal.throwIfAborted();
    }
    this.#hash = undefined;
    return hash.hex();
  }

  #beginProof(): void {
    const { manifest, onDamaged } = this.#options;
    this.#check = manifest === undefined ? undefined : new ChunkCheck(manifest, this.#file, onDamaged);
    this.#hash = this.#hash && fileHash(this.#hash.algorithm);
  }
}
