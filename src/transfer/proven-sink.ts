import { hasher } from './hasher.ts';
import { chunkRange, type Manifest } from './manifest.ts';
import type { Write } from './ordered-sink.ts';
import type { BadRange, Sink } from './sink.ts';

interface Chunk {
  bytes: Buffer;
  received: number;
  servers: Set<string>;
  proven: boolean;
}

/** Hands on whole chunks in order, each only when its hash has proven it. */
export class ProvenSink implements Sink {
  readonly grain: number;
  readonly largestPiece: number;
  readonly #manifest: Manifest;
  readonly #window: number;
  readonly #write: Write;
  readonly #onBad: BadRange;
  readonly #chunks = new Map<number, Chunk>();
  readonly #spare: Buffer[] = [];
  /** Next chunk to hand on. */
  #next = 0;
  #handing: Promise<void> | undefined;

  constructor(manifest: Manifest, windowBytes: number, write: Write, onBad: BadRange) {
    this.#manifest = manifest;
    this.grain = manifest.chunkBytes;
    this.#window = Math.max(windowBytes, 2 * manifest.chunkBytes);
    this.largestPiece = Math.max(manifest.chunkBytes, Math.ceil(this.#window / 8));
    this.#write = write;
    this.#onBad = onBad;
  }

  get before(): number {
    return this.#next * this.grain + this.#window;
  }

  begin(): void {
    // Nothing to prepare: the bytes are the writer's business.
  }

  write(offset: number, bytes: Buffer, server: string): void | Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const index = Math.floor((offset + at) / this.grain);
      const { start, end } = chunkRange(this.#manifest, index);
      const length = Math.min(bytes.length - at, end - (offset + at));
      const chunk = this.#chunk(index);
      bytes.copy(chunk.bytes, offset + at - start, at, at + length);
      chunk.received += length;
      chunk.servers.add(server);
      if (chunk.received === end - start) this.#prove(index, chunk);
      at += length;
    }
    if (this.#chunks.get(this.#next)?.proven !== true) return this.#handing;
    this.#handing ??= this.#handOn().finally(() => (this.#handing = undefined));
    return this.#handing;
  }

  discard(): 'kept' {
    return 'kept';
  }

  restart(): boolean {
    // Bytes proven by the manifest stay right whatever a server says later.
    return false;
  }

  #chunk(index: number): Chunk {
    let chunk = this.#chunks.get(index);
    if (chunk === undefined) {
      const bytes = this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.grain);
      chunk = { bytes, received: 0, servers: new Set(), proven: false };
      this.#chunks.set(index, chunk);
    }
    return chunk;
  }

  #prove(index: number, chunk: Chunk): void {
    const hash = hasher('sha-256');
    hash.update(chunk.bytes.subarray(0, chunk.received));
    chunk.proven = hash.hex() === this.#manifest.chunks[index];
    if (chunk.proven) return;
    this.#forget(index, chunk);
    this.#onBad(chunkRange(this.#manifest, index), chunk.servers);
  }

  async #handOn(): Promise<void> {
    for (
      let chunk = this.#chunks.get(this.#next);
      chunk?.proven === true;
      chunk = this.#chunks.get(this.#next)
    ) {
      await this.#write(chunk.bytes.subarray(0, chunk.received));
      this.#forget(this.#next, chunk);
      this.#next++;
    }
  }

  #forget(index: number, chunk: Chunk): void {
    this.#chunks.delete(index);
    this.#spare.push(chunk.bytes);
  }
}
