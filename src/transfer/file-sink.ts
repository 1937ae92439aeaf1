import type { PartFile } from './part-file.ts';
import type { Sink } from './sink.ts';
import { ChunkCheck, OrderedHash } from './verify.ts';
import type { Manifest } from './manifest.ts';
import type { BadRange } from './sink.ts';

interface FileSinkOptions {
  manifest: Manifest | undefined;
  /** Hash the whole while it arrives. */
  sha256: boolean;
  onBad: BadRange;
}

/** Writes every byte where it belongs in the `.part` file, in any order, and proves it on the way. */
export class FileSink implements Sink {
  readonly before = Infinity;
  readonly largestPiece = Infinity;
  readonly grain: number;
  readonly #file: PartFile;
  readonly #options: FileSinkOptions;
  check: ChunkCheck | undefined;
  #hash: OrderedHash | undefined;

  constructor(file: PartFile, options: FileSinkOptions) {
    this.#file = file;
    this.#options = options;
    this.grain = options.manifest?.chunkBytes ?? 1;
    this.#beginProof();
  }

  begin(size: number | undefined): void {
    if (size !== undefined) this.#file.reserve(size);
  }

  write(offset: number, chunk: Buffer, server: string): void {
    this.#file.write(offset, chunk);
    this.#hash?.wrote(offset, chunk);
    this.check?.wrote(offset, chunk, server);
  }

  discard(): 'kept' | 'dropped' {
    if (this.check !== undefined) return 'kept';
    this.#beginProof();
    return 'dropped';
  }

  restart(): boolean {
    this.#file.startOver();
    this.#beginProof();
    return true;
  }

  /** SHA-256 of the whole; what came out of order is read back. */
  sha256(size: number): string {
    const hash = this.#hash ?? new OrderedHash('sha-256');
    hash.catchUp(this.#file, size);
    this.#hash = undefined;
    return hash.hex();
  }

  #beginProof(): void {
    const { manifest, sha256, onBad } = this.#options;
    this.check = manifest === undefined ? undefined : new ChunkCheck(manifest, this.#file, onBad);
    this.#hash = sha256 ? new OrderedHash('sha-256') : undefined;
  }
}
