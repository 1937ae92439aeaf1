/** Bytes that came in pieces, to be taken in others. What is taken stays valid until the next push. */
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
  giveBack(count: number): void {
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
