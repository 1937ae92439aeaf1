/** ECMA-182's polynomial, bits reversed, as its two halves. */
const polynomialLow = 0xd7870f42 | 0;
const polynomialHigh = 0xc96c5795 | 0;

const pick = (table: Int32Array, index: number): number => table[index] as number;

/** What a byte adds, in halves: entry `256 * n + byte` is for a byte with `n` more after it. Made when first needed. */
let tables: [low: Int32Array, high: Int32Array] | undefined;

/** The 64-bit checksum xz uses by default, in 32-bit halves since numbers have no more bits to shift. */
export class Crc64 {
  #low = -1;
  #high = -1;

  /** Takes four bytes at a time, as one at a time would take longer than unpacking them. */
  update(bytes: Buffer): void {
    const [lows, highs] = (tables ??= makeTables());
    let at = 0;
    for (; at + 4 <= bytes.length; at += 4) {
      const word = this.#low ^ bytes.readInt32LE(at);
      const a = 768 + (word & 255);
      const b = 512 + ((word >> 8) & 255);
      const c = 256 + ((word >> 16) & 255);
      const d = word >>> 24;
      this.#low = this.#high ^ pick(lows, a) ^ pick(lows, b) ^ pick(lows, c) ^ pick(lows, d);
      this.#high = pick(highs, a) ^ pick(highs, b) ^ pick(highs, c) ^ pick(highs, d);
    }
    for (; at < bytes.length; at++) {
      const index = (this.#low ^ (bytes[at] ?? 0)) & 255;
      this.#low = (this.#low >>> 8) | (this.#high << 24);
      this.#low ^= pick(lows, index);
      this.#high = (this.#high >>> 8) ^ pick(highs, index);
    }
  }

  /** Eight bytes, lowest first. */
  digest(): Buffer {
    const bytes = Buffer.alloc(8);
    bytes.writeInt32LE(~this.#low, 0);
    bytes.writeInt32LE(~this.#high, 4);
    return bytes;
  }
}

function makeTables(): [low: Int32Array, high: Int32Array] {
  const low = new Int32Array(1024);
  const high = new Int32Array(1024);
  for (let byte = 0; byte < 256; byte++) {
    let [l, h] = [byte, 0];
    for (let bit = 0; bit < 8; bit++) {
      const odd = -(l & 1);
      [l, h] = [((l >>> 1) | (h << 31)) ^ (polynomialLow & odd), (h >>> 1) ^ (polynomialHigh & odd)];
    }
    [low[byte], high[byte]] = [l, h];
  }
  for (let i = 256; i < 1024; i++) {
    const [l, h] = [pick(low, i - 256), pick(high, i - 256)];
    low[i] = ((l >>> 8) | (h << 24)) ^ pick(low, l & 255);
    high[i] = (h >>> 8) ^ pick(high, l & 255);
  }
  return [low, high];
}
