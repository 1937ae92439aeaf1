import type { Hasher } from './hasher.ts';
import { leb, op, pageBytes, wasmLoop, type WasmLoop } from './wasm-loop.ts';

const modulus = 65521;
const stepBytes = 64;
/** The largest number of bytes for which no 16-bit lane overflows: each gets two bytes of every 16. */
const blockBytes = 2048;
/** Where a block's sums are stored: sixteen of 16 bits, one for each place in a word, then four of 32 bits. */
const sumsAt = pageBytes - 48;

/** Sums of a block: of the bytes by their place in the word, and of those sums before each word. */
function summing(): WasmLoop | undefined {
  const [low, high, before] = [2, 3, 4];
  const get = (local: number): number[] => [op.localGet, local];
  const add = (local: number, term: number[], how: number[]): number[] => [
    ...get(local),
    ...term,
    ...how,
    op.localSet,
    local,
  ];
  const body = [0, 16, 32, 48].flatMap((offset) => {
    const word = [op.localGet, 0, ...op.v128Load, offset];
    return [
      ...add(before, [...get(low), ...get(high), ...op.i16x8Add, ...op.i32x4AddPairs], op.i32x4Add),
      ...add(low, [...word, ...op.i16x8ExtendLow], op.i16x8Add),
      ...add(high, [...word, ...op.i16x8ExtendHigh], op.i16x8Add),
    ];
  });
  const end = [low, high, before].flatMap((local, index) => [
    ...[op.i32Const, ...leb(0, true), ...get(local), ...op.v128Store, ...leb(sumsAt + index * 16)],
  ]);
  return wasmLoop({ step: stepBytes, vectors: 3, body, end });
}

/** Undefined where 128-bit words are not supported. */
let shared: { sum: WasmLoop | undefined } | undefined;

export function adler32Hasher(): Hasher {
  const { sum } = (shared ??= { sum: summing() });
  let state = { a: 1, b: 0 };
  return {
    update(chunk) {
      const whole = sum === undefined ? 0 : chunk.length - (chunk.length % stepBytes);
      if (sum !== undefined) state = byWords(sum, state, chunk.subarray(0, whole));
      state = byBytes(state, chunk.subarray(whole));
    },
    hex: () => (state.b * 65536 + state.a).toString(16).padStart(8, '0'),
  };
}

interface State {
  a: number;
  b: number;
}

function byWords({ page, run }: WasmLoop, { a, b }: State, bytes: Uint8Array): State {
  const places = new Uint16Array(page.buffer, sumsAt, 16);
  const before = new Uint32Array(page.buffer, sumsAt + 32, 4);
  for (let at = 0; at < bytes.length; at += blockBytes) {
    const block = bytes.subarray(at, at + blockBytes);
    page.set(block);
    run(0, block.length);
    b += block.length * a;
    for (let lane = 0; lane < 4; lane++) b += 16 * (before[lane] ?? 0);
    for (let place = 0; place < 16; place++) {
      const sum = places[place] ?? 0;
      a += sum;
      b += (16 - place) * sum;
    }
    a %= modulus;
    b %= modulus;
  }
  return { a, b };
}

/** In blocks short enough that the sums stay exact. */
function byBytes({ a, b }: State, bytes: Uint8Array): State {
  for (let at = 0; at < bytes.length; at += blockBytes) {
    for (const byte of bytes.subarray(at, at + blockBytes)) {
      a += byte;
      b += a;
    }
    a %= modulus;
    b %= modulus;
  }
  return { a, b };
}
