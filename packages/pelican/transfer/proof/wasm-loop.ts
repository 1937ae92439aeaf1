/** A loop over one page of memory, in WebAssembly: JavaScript has no 128-bit words. */
export interface WasmLoop {
  page: Uint8Array<ArrayBuffer>;
  /** Runs the body for `at` = `from`, in steps of `step` bytes, until `to` is reached. */
  run: (from: number, to: number) => void;
}

/** Node and Bun have it; TypeScript declares it only for browsers. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: object };
};

interface LoopText {
  /** The bytes that each iteration advances. */
  step: number;
  /** How many 128-bit locals the body has; they start at zero and are numbered from 2. Local 0 is `at`. */
  vectors: number;
  /** The instructions of one iteration, and those after the last. */
  body: number[];
  end?: number[];
}

export const pageBytes = 1 << 16;

/** The opcodes used here, by their names in the specification. */
export const op = {
  localGet: 0x20,
  localSet: 0x21,
  i32Const: 0x41,
  v128Load: [0xfd, 0x00, 0],
  v128Store: [0xfd, 0x0b, 0],
  v128Xor: [0xfd, 0x51],
  i16x8ExtendLow: [0xfd, 0x89, 0x01],
  i16x8ExtendHigh: [0xfd, 0x8a, 0x01],
  i16x8Add: [0xfd, 0x8e, 0x01],
  i32x4Add: [0xfd, 0xae, 0x01],
  i32x4AddPairs: [0xfd, 0x7f],
};

/** A number in WebAssembly's encoding (LEB128); the spare bit keeps a signed one positive. */
export function leb(value: number, isSigned = false): number[] {
  const bytes: number[] = [];
  for (; value >= (isSigned ? 64 : 128); value >>>= 7) bytes.push((value & 127) | 128);
  return [...bytes, value];
}

/** The compiled loop; undefined where the machine cannot run it (128-bit words under Bun need AVX). */
export function wasmLoop({ step, vectors, body, end = [] }: LoopText): WasmLoop | undefined {
  const [i32, v128] = [0x7f, 0x7b];
  const next = [op.localGet, 0, op.i32Const, ...leb(step, true), 0x6a /* add */, 0x22 /* tee */, 0];
  const again = [op.localGet, 1, 0x49 /* less */, 0x0d /* br_if */, 0];
  const loop = [0x03, 0x40, ...body, ...next, ...again, 0x0b];
  const locals = vectors === 0 ? [0] : [1, vectors, v128];
  const text = [...locals, ...loop, ...end, 0x0b];
  const section = (id: number, bytes: number[]): number[] => [id, ...leb(bytes.length), ...bytes];
  const module = [
    ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 2, i32, i32, 0]),
    ...section(3, [1, 0]),
    ...section(5, [1, 0, 1]),
    ...section(7, [2, 1, 0x6d /* m */, 2, 0, 1, 0x66 /* f */, 0, 0]),
    ...section(10, [1, ...leb(text.length), ...text]),
  ];
  try {
    const { exports } = new WebAssembly.Instance(new WebAssembly.Module(new Uint8Array(module)));
    const { m, f } = exports as { m: { buffer: ArrayBuffer }; f: WasmLoop['run'] };
    return { page: new Uint8Array(m.buffer), run: f };
  } catch {
    return undefined;
  }
}
