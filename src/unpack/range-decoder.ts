/** LZMA's range decoder over a whole chunk held in memory, with the adaptive probabilities it reads by. */
export class RangeDecoder {
  readonly #probabilities: Uint16Array;
  #input: Buffer = Buffer.alloc(0);
  #at = 0;
  #range = 0;
  #code = 0;

  constructor(probabilities: number) {
    this.#probabilities = new Uint16Array(probabilities);
  }

  resetProbabilities(): void {
    this.#probabilities.fill(1024);
  }

  /** Begins a chunk; false if it cannot be one. */
  start(input: Buffer): boolean {
    if (input.length < 5 || input[0] !== 0) return false;
    this.#input = input;
    this.#code = input.readInt32BE(1);
    this.#range = -1;
    this.#at = 5;
    return true;
  }

  /** Whether the chunk was used up exactly, as it is when nothing is damaged. */
  finished(): boolean {
    this.#normalize();
    return this.#at === this.#input.length && this.#code === 0;
  }

  /** One bit by the probability at `index`. Range and code are unsigned 32-bit numbers kept in signed ones. */
  bit(index: number): 0 | 1 {
    if (this.#range >>> 24 === 0) this.#normalize();
    const probability = this.#probabilities[index] as number;
    const bound = Math.imul(this.#range >>> 11, probability);
    if ((this.#code ^ 0x80000000) < (bound ^ 0x80000000)) {
      this.#range = bound;
      this.#probabilities[index] = probability + ((2048 - probability) >> 5);
      return 0;
    }
    this.#range = (this.#range - bound) | 0;
    this.#code = (this.#code - bound) | 0;
    this.#probabilities[index] = probability - (probability >> 5);
    return 1;
  }

  tree(base: number, bits: number): number {
    let symbol = 1;
    for (let i = 0; i < bits; i++) symbol = (symbol << 1) | this.bit(base + symbol);
    return symbol - (1 << bits);
  }

  reverseTree(base: number, bits: number): number {
    let symbol = 1;
    let value = 0;
    for (let i = 0; i < bits; i++) {
      const bit = this.bit(base + symbol);
      symbol = (symbol << 1) | bit;
      value |= bit << i;
    }
    return value;
  }

  /** Bits that are equally likely either way. */
  direct(bits: number): number {
    let value = 0;
    for (let i = 0; i < bits; i++) {
      if (this.#range >>> 24 === 0) this.#normalize();
      this.#range >>>= 1;
      this.#code = (this.#code - this.#range) | 0;
      const borrowed = this.#code >> 31;
      this.#code = (this.#code + (this.#range & borrowed)) | 0;
      value = (value << 1) + (borrowed + 1);
    }
    return value;
  }

  /** A literal after a match: as long as it agrees with the byte a match would give, that byte is the context. */
  matchedByte(base: number, match: number): number {
    let offset = 0x100;
    let symbol = 1;
    let rest = match;
    while (symbol < 0x100) {
      rest <<= 1;
      const matchBit = rest & offset;
      const bit = this.bit(base + offset + matchBit + symbol);
      symbol = (symbol << 1) | bit;
      offset &= bit === 1 ? matchBit : ~matchBit;
    }
    return symbol & 0xff;
  }

  #normalize(): void {
    if (this.#range >>> 24 !== 0) return;
    this.#range <<= 8;
    this.#code = (this.#code << 8) | (this.#input[this.#at++] ?? 0);
  }
}
