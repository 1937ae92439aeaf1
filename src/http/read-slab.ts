/** Few reads, and yet small enough to be still in the processor when it is written out. */
const slabBytes = 512 * 1024;
/** What one TLS record can hold: with less room than this the slab is handed over. */
const recordBytes = 16 * 1024;

/**
 * The memory a socket reads into, used over and over. TLS brings 16 KiB at a time: with `gather` they are laid
 * one after the other and handed over together, once per turn of the event loop.
 */
export class ReadSlab {
  readonly #gather: boolean;
  /** Takes bytes; true if they are still in use when it returns. */
  readonly #deliver: (chunk: Buffer) => boolean;
  #slab: Buffer = Buffer.allocUnsafeSlow(slabBytes);
  #spare: Buffer | undefined;
  #filled = 0;
  /** What `room` gave last: the next read goes there even if the slab was handed over since. */
  #lent: Buffer = this.#slab;
  #scheduled = false;

  constructor(gather: boolean, deliver: (chunk: Buffer) => boolean) {
    this.#gather = gather;
    this.#deliver = deliver;
  }

  /** Where the next read goes. */
  room(): Buffer {
    this.#lent = this.#slab.subarray(this.#filled);
    return this.#lent;
  }

  /** A read has filled so much of what `room` gave. */
  filled(length: number): void {
    const { buffer, byteOffset } = this.#lent;
    // Handed over between two reads: this one landed behind what was handed over.
    if (buffer !== this.#slab.buffer || byteOffset !== this.#filled)
      this.#slab.set(this.#lent.subarray(0, length), this.#filled);
    this.#filled += length;
    if (!this.#gather || slabBytes - this.#filled < recordBytes) this.flush();
    else if (!this.#scheduled) {
      this.#scheduled = true;
      setImmediate(() => {
        this.#scheduled = false;
        this.flush();
      });
    }
  }

  /** Hands over what was read. Bytes still in use keep their slab, and the next reads go to the other one. */
  flush(): void {
    if (this.#filled === 0) return;
    const chunk = this.#slab.subarray(0, this.#filled);
    this.#filled = 0;
    if (!this.#deliver(chunk)) return;
    const next = this.#spare ?? Buffer.allocUnsafeSlow(slabBytes);
    this.#spare = this.#slab;
    this.#slab = next;
  }
}
