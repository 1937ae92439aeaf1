import type { Gunzip, InflateRaw, ZstdDecompress } from 'node:zlib';
import { Fault, asFault } from './fault.ts';
import type { ByteSink, MaybePromise } from './entry.ts';
import { checkRatio, type UnpackLimits } from './budget.ts';

/** Bytes pushed in pieces and taken in pieces of other sizes. What is taken stays valid until the next push. */
export class ByteQueue {
  #store = Buffer.alloc(64 * 1024);
  #start = 0;
  #end = 0;
  /** All bytes ever pushed. */
  pushed = 0;

  get length(): number {
    return this.#end - this.#start;
  }

  push(piece: Buffer): void {
    this.#makeRoom(piece.length);
    piece.copy(this.#store, this.#end);
    this.#end += piece.length;
    this.pushed += piece.length;
  }

  take(count: number): Buffer {
    const taken = this.#store.subarray(this.#start, this.#start + count);
    this.#start += count;
    return taken;
  }

  /** The last `count` bytes taken were not used. */
  unread(count: number): void {
    this.#start -= count;
  }

  #makeRoom(count: number): void {
    if (this.#end + count <= this.#store.length) return;
    const { length } = this;
    const bigger = length + count > this.#store.length;
    const store = bigger ? Buffer.alloc(2 * (length + count)) : this.#store;
    this.#store.copy(store, 0, this.#start, this.#end);
    this.#store = store;
    this.#start = 0;
    this.#end = length;
  }
}

/** What a parser asks for: exactly `bytes`, or with `atMost` between one and `bytes`. */
export interface ByteRequest {
  bytes: number;
  atMost?: true;
  /** The input may end here. */
  mayEnd?: true;
}

/** A parser as a generator: it yields what it needs (or a promise to wait for) and receives the bytes. */
export type Pull<Result = void> = Generator<ByteRequest | Promise<void>, Result, Buffer>;

const nothing = Buffer.alloc(0);

/** Feeds pushed bytes to a parser that pulls. */
export class PullStage implements ByteSink {
  readonly #archive: string;
  readonly #parser: Pull;
  readonly #queue = new ByteQueue();
  readonly #next: ByteSink | undefined;
  #wanted: IteratorResult<ByteRequest | Promise<void>, void> | undefined;

  /** `next` is what the parser writes to, if anything; it ends with this stage. */
  constructor(archive: string, parse: (queue: ByteQueue) => Pull, next?: ByteSink) {
    this.#archive = archive;
    this.#parser = parse(this.#queue);
    this.#next = next;
  }

  write(piece: Buffer): MaybePromise {
    this.#queue.push(piece);
    return this.#run();
  }

  end(): MaybePromise {
    const wanted = this.#wanted;
    const whole =
      wanted?.done === true || (this.#queue.length === 0 && wanted !== undefined && mayEnd(wanted.value));
    if (!whole)
      throw new Fault(
        'archive-damaged',
        `${this.#archive}: ends at byte ${this.#queue.pushed.toLocaleString('en-US')}, before it is complete`,
        { about: this.#archive },
      );
    return this.#next?.end();
  }

  destroy(): void {
    this.#parser.return();
    this.#next?.destroy();
  }

  #run(): MaybePromise {
    this.#wanted ??= this.#parser.next(nothing);
    while (!this.#wanted.done) {
      const want = this.#wanted.value;
      if (want instanceof Promise) return this.#goOn(want);
      const { length } = this.#queue;
      if (length < (want.atMost ? 1 : want.bytes)) return;
      this.#wanted = this.#parser.next(this.#queue.take(Math.min(want.bytes, length)));
    }
  }

  async #goOn(waiting: Promise<void>): Promise<void> {
    await waiting;
    this.#wanted = this.#parser.next(nothing);
    await this.#run();
  }
}

const mayEnd = (want: ByteRequest | Promise<void>): boolean => 'mayEnd' in want;

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
