import type { Hasher } from './hasher.ts';
import { leb, op, pageBytes, wasmLoop, type WasmLoop } from './wasm-loop.ts';

/**
 * The CRC is the remainder of the message, taken as a polynomial over GF(2), modulo Castagnoli's polynomial. That one
 * divides x²⁰⁹ + x¹⁴⁴ + x⁵⁴ + x³⁹ + x¹⁴ + 1 (its multiple of lowest degree with six terms), and hence the same
 * polynomial in x¹²⁸, since squaring is linear. So each word except the last 209 can be removed by adding
 * (xor) it to five later words. No table is needed, and this runs at the speed of memory.
 */
const degree = 209;
const terms = [144, 54, 39, 14];

/** Castagnoli's polynomial; the highest bit is x⁰. */
const polynomial = 0x82f63b78;

const wordBytes = 16;
const unrolled = 8;
const step = unrolled * wordBytes;
const historyBytes = degree * wordBytes;

/** Adds to each word the words that lie `degree - term` before it. */
export function crcFolding(): WasmLoop | undefined {
  const body: number[] = [];
  for (let word = 0; word < unrolled; word++) {
    const get = (term: number) => [op.localGet, 0, ...op.v128Load, ...leb((term + word) * wordBytes)];
    const sum = [...get(degree), ...[...terms, 0].flatMap((term) => [...get(term), ...op.v128Xor])];
    body.push(op.localGet, 0, ...sum, ...op.v128Store, ...leb((degree + word) * wordBytes));
  }
  return wasmLoop({ step, vectors: 0, body });
}

/** One page serves all digests: each keeps its own history. Undefined where 128-bit words are not supported. */
let shared: { folding: WasmLoop | undefined } | undefined;

export function crc32cHasher(): Hasher {
  const { folding } = (shared ??= { folding: crcFolding() });
  return folding === undefined ? bytewiseHasher() : foldingHasher(folding);
}

export function foldingHasher({ page, run }: WasmLoop): Hasher {
  /** The history, followed by the bytes that do not yet fill a step. */
  const kept = new Uint8Array(historyBytes + step);
  let keptBytes = historyBytes;
  // The four bytes that turn a register of zeros into one of ones, the initial value of a CRC.
  kept.set([0x54, 0x64, 0x1f, 0x64], historyBytes - 4);
  return {
    update(chunk) {
      page.set(kept.subarray(0, keptBytes));
      let filled = keptBytes;
      for (let at = 0; at < chunk.length;) {
        const taken = Math.min(chunk.length - at, pageBytes - filled);
        page.set(chunk.subarray(at, at + taken), filled);
        at += taken;
        filled += taken;
        const whole = filled - historyBytes - ((filled - historyBytes) % step);
        if (whole === 0) continue;
        run(0, whole);
        page.copyWithin(0, whole, filled);
        filled -= whole;
      }
      kept.set(page.subarray(0, filled));
      keptBytes = filled;
    },
    hex() {
      // Words of the history are not removed: undo what they added to each other, starting with the last.
      for (let at = historyBytes - 1; at >= 0; at--)
        for (const term of terms) {
          const from = at - (degree - term) * wordBytes;
          if (from >= 0) kept[at] = (kept[at] ?? 0) ^ (kept[from] ?? 0);
        }
      return inHex(~register(0, kept.subarray(0, keptBytes)));
    },
  };
}

export function bytewiseHasher(): Hasher {
  let state = ~0;
  return { update: (chunk) => void (state = register(state, chunk)), hex: () => inHex(~state) };
}

/** For short records, where an object for each would cost more than its bytes. */
export const crc32cOf = (bytes: Uint8Array): number => ~register(~0, bytes) >>> 0;

const inHex = (value: number): string => (value >>> 0).toString(16).padStart(8, '0');

/** Computed when first needed. */
let table: Int32Array | undefined;

/** The register after `bytes`, one byte at a time. */
function register(state: number, bytes: Uint8Array): number {
  const byByte = (table ??= Int32Array.from({ length: 256 }, (_, byte) => shifted(byte)));
  for (const byte of bytes) state = (state >>> 8) ^ (byByte[(state ^ byte) & 0xff] ?? 0);
  return state;
}

function shifted(byte: number): number {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = (value >>> 1) ^ (value & 1 ? polynomial : 0);
  return value;
}

/** The CRC of two pieces in a row from the CRC of each: the first is shifted by the length of the second. */
export function joinCrc32c(first: string, second: string, secondBytes: number): string {
  // x⁸ in the bit order of the register, where x⁰ is the highest bit.
  let [power, moved] = [1 << 23, parseInt(first, 16)];
  for (let rest = secondBytes; rest > 0; rest = Math.floor(rest / 2)) {
    if (rest % 2 === 1) moved = product(power, moved);
    power = product(power, power);
  }
  return inHex(moved ^ parseInt(second, 16));
}

/** The product of two polynomials, modulo Castagnoli's. */
function product(a: number, b: number): number {
  let sum = 0;
  for (let bit = 31; bit >= 0; bit--) {
    if ((a >>> bit) & 1) sum ^= b;
    b = (b >>> 1) ^ (b & 1 ? polynomial : 0);
  }
  return sum;
}
