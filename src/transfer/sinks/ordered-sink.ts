import type { Sink } from './sink.ts';

export type Write = (chunk: Buffer) => void | Promise<void>;

/**
 * Hands bytes on in order. Bytes that come ahead of their turn are held, at most as many as the window: no
 * piece begins beyond it.
 */
export class OrderedSink implements Sink {
  readonly grain = 1;
  readonly largestPiece: number;
  readonly #window: number;
  readonly #write: Write;
  readonly #held = new Map<number, Buffer>();
  /** Next byte to hand on. */
  #head = 0;
  /** The writer is not done with what it got. */
  #busy: Promise<void> | undefined;

  constructor(windowBytes: number, write: Write) {
    this.#window = windowBytes;
    this.largestPiece = Math.ceil(windowBytes / 8);
    this.#write = write;
  }

  get before(): number {
    return this.#head + this.#window;
  }

  begin(): void {
    // Nothing to prepare: the bytes are the writer's business.
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
