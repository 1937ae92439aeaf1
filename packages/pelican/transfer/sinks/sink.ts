import type { Range } from '../engine/segments.ts';
import { chunkProof, chunkRange, type ChunkProof, type Manifest } from '../proof/manifest.ts';

/** Where the bytes go. */
export interface Sink {
  /** Segments must begin before this offset. */
  readonly before: number;
  /** No segment is longer than this, unless one server sends everything. */
  readonly maxSegment: number;
  /** Segments begin and end at multiples of this. */
  readonly alignment: number;
  /** While the size is unknown, ask for it before writing beyond this offset; undefined if that is not needed. */
  readonly beforeSize?: number;
  /** Throws a Fault if there is no room for this size. Called again once the size is known, and after a restart. */
  begin(size: number | undefined): void | Promise<void>;
  /** Takes bytes; the caller may reuse `chunk` once this returns or resolves. A throw ends the transfer. */
  write(offset: number, chunk: Buffer, server: string): void | Promise<void>;
  /**
   * The server withdraws bytes it sent: `kept` if their hash proves them, `dropped` if they can be fetched again,
   * `gone` if they were already passed on.
   */
  discard(): 'kept' | 'dropped' | 'gone';
  /** Bytes will be fetched again; the returned function says whether any of them differed since it was last called. */
  rewrite?(): () => boolean;
  /** Forgets all bytes; false if starting over is impossible. */
  restart(): boolean;
}

/** Called with a range whose bytes are wrong, the servers that sent it, and the hash of what came. */
export type OnDamaged = (range: Range, servers: ReadonlySet<string>, found: string) => void;

export type Write = (chunk: Buffer) => void | Promise<void>;

/**
 * Passes bytes on in order. Bytes that arrive out of order are kept in memory, up to the size of the window: no
 * segment begins beyond it.
 */
export class OrderedSink implements Sink {
  readonly alignment = 1;
  readonly maxSegment: number;
  readonly #window: number;
  readonly #write: Write;
  readonly #held = new Map<number, Buffer>();
  /** The next byte to pass on. */
  #head = 0;
  /** Set while the writer processes the last bytes. */
  #busy: Promise<void> | undefined;

  constructor(windowBytes: number, write: Write) {
    this.#window = windowBytes;
    this.maxSegment = Math.ceil(windowBytes / 8);
    this.#write = write;
  }

  get before(): number {
    return this.#head + this.#window;
  }

  begin(): void {
    // Nothing to prepare: the writer takes any size.
  }

  write(offset: number, chunk: Buffer): void | Promise<void> {
    if (offset !== this.#head) return void this.#held.set(offset, Buffer.from(chunk));
    if (this.#busy !== undefined) return this.#busy.then(() => this.write(offset, chunk));
    this.#head += chunk.length;
    const written = this.#write(chunk);
    if (written === undefined && !this.#held.has(this.#head)) return undefined;
    this.#busy = this.#drain(written).finally(() => (this.#busy = undefined));
    return this.#busy;
  }

  discard(): 'gone' {
    return 'gone';
  }

  restart(): boolean {
    this.#held.clear();
    return this.#head === 0;
  }

  async #drain(written: void | Promise<void>): Promise<void> {
    await written;
    for (let chunk = this.#held.get(this.#head); chunk !== undefined; chunk = this.#held.get(this.#head)) {
      this.#held.delete(this.#head);
      this.#head += chunk.length;
      await this.#write(chunk);
    }
  }
}

interface Chunk {
  bytes: Buffer;
  /** Hash of the bytes so far, computed while they are in the processor's cache; undefined once out of order. */
  proof: ChunkProof | undefined;
  received: number;
  servers: Set<string>;
  proven: boolean;
}

/** Passes on whole chunks in order, each only after its hash was verified. */
export class VerifyingSink implements Sink {
  readonly alignment: number;
  readonly maxSegment: number;
  readonly #manifest: Manifest;
  readonly #window: number;
  readonly #write: Write;
  readonly #onDamaged: OnDamaged;
  readonly #chunks = new Map<number, Chunk>();
  readonly #spare: Buffer[] = [];
  /** The next chunk to pass on. */
  #next = 0;
  #handing: Promise<void> | undefined;

  constructor(manifest: Manifest, windowBytes: number, write: Write, onDamaged: OnDamaged) {
    this.#manifest = manifest;
    this.alignment = manifest.chunkBytes;
    this.#window = Math.max(windowBytes, 2 * manifest.chunkBytes);
    this.maxSegment = Math.max(manifest.chunkBytes, Math.ceil(this.#window / 8));
    this.#write = write;
    this.#onDamaged = onDamaged;
  }

  get before(): number {
    return this.#next * this.alignment + this.#window;
  }

  begin(): void {
    // Nothing to prepare: the writer takes any size.
  }

  write(offset: number, bytes: Buffer, server: string): void | Promise<void> {
    for (let at = 0; at < bytes.length;) {
      const index = Math.floor((offset + at) / this.alignment);
      const { start, end } = chunkRange(this.#manifest, index);
      const length = Math.min(bytes.length - at, end - (offset + at));
      const chunk = this.#chunk(index);
      const piece = bytes.subarray(at, at + length);
      if (offset + at - start === chunk.received) chunk.proof?.hash.update(piece);
      else chunk.proof = undefined;
      chunk.bytes.set(piece, offset + at - start);
      chunk.received += length;
      chunk.servers.add(server);
      if (chunk.received === end - start) this.#prove(index, chunk);
      at += length;
    }
    if (this.#handing !== undefined) return this.#handing;
    const waiting = this.#handOn();
    this.#handing = waiting?.finally(() => (this.#handing = undefined));
    return this.#handing;
  }

  discard(): 'kept' {
    return 'kept';
  }

  restart(): boolean {
    // Bytes verified by the manifest stay right whatever a server says later.
    return false;
  }

  #chunk(index: number): Chunk {
    let chunk = this.#chunks.get(index);
    if (chunk === undefined) {
      const bytes = this.#spare.pop() ?? Buffer.allocUnsafeSlow(this.alignment);
      chunk = {
        bytes,
        proof: chunkProof(this.#manifest, index),
        received: 0,
        servers: new Set(),
        proven: false,
      };
      this.#chunks.set(index, chunk);
    }
    return chunk;
  }

  #prove(index: number, chunk: Chunk): void {
    const { hash, expected } = chunk.proof ?? chunkProof(this.#manifest, index);
    if (chunk.proof === undefined) hash.update(chunk.bytes.subarray(0, chunk.received));
    const found = hash.hex();
    chunk.proven = found === expected;
    if (chunk.proven) return;
    this.#forget(index, chunk);
    this.#onDamaged(chunkRange(this.#manifest, index), chunk.servers, found);
  }

  /** Passes on verified chunks in order; returns a promise only if the writer does, so that no socket is paused. */
  #handOn(): void | Promise<void> {
    for (let chunk = this.#provenNext(); chunk !== undefined; chunk = this.#provenNext()) {
      const done = chunk;
      const waiting = this.#write(chunk.bytes.subarray(0, chunk.received));
      if (waiting !== undefined)
        return waiting.then(() => {
          this.#handedOn(done);
          return this.#handOn();
        });
      this.#handedOn(done);
    }
  }

  #provenNext(): Chunk | undefined {
    const chunk = this.#chunks.get(this.#next);
    return chunk?.proven === true ? chunk : undefined;
  }

  #handedOn(chunk: Chunk): void {
    this.#forget(this.#next, chunk);
    this.#next++;
  }

  #forget(index: number, chunk: Chunk): void {
    this.#chunks.delete(index);
    this.#spare.push(chunk.bytes);
  }
}
