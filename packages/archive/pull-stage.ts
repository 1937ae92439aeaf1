import { Fault } from './fault.ts';
import type { ByteSink, MaybePromise } from './entry.ts';

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
