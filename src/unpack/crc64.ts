/** ECMA-182's polynomial, bits reversed, as its two halves. */
const polynomialLow = 0xd7870f42 | 0;
const polynomialHigh = 0xc96c5795 | 0;

/** What each byte adds, as two halves. */
const tables = makeTables();

/** The 64-bit checksum xz uses by default, in 32-bit halves since numbers have no more bits to shift. */
export class Crc64 {
  #low = -1;
  #high = -1;

  update(bytes: Buffer): void {
    const { low, high } = tables;
    let l = this.#low;
    let h = this.#high;
    for (const byte of bytes) {
      const index = (l ^ byte) & 0xff;
      l = ((l >>> 8) | (h << 24)) ^ (low[index] as number);
      h = (h >>> 8) ^ (high[index] as number);
    }
    this.#low = l;
    this.#high = h;
  }

  /** Eight bytes, lowest first. */
  digest(): Buffer {
    const bytes = Buffer.alloc(8);
    bytes.writeInt32LE(~this.#low, 0);
    bytes.writeInt32LE(~this.#high, 4);
    return bytes;
  }
}

function makeTables(): { low: Int32Array; high: Int32Array } {
  const low = new Int32Array(256);
  const high = new Int32Array(256);
  for (let byte = 0; byte < 256; byte++) {
    let l = byte;
    let h = 0;
    for (let bit = 0; bit < 8; bit++) {
      const odd = -(l & 1);
      l = ((l >>> 1) | (h << 31)) ^ (polynomialLow & odd);
      h = (h >>> 1) ^ (polynomialHigh & odd);
    }
    low[byte] = l;
    high[byte] = h;
  }
  return { low, high };
}
