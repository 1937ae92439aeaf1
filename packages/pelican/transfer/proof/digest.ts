import { createHash } from 'node:crypto';
import type { Clock } from '@updraft/base';
import {
  algorithms,
  parseDigestHeader,
  wantDigest,
  type Digests,
  type OriginFacts,
} from '../../federation/stat-object.ts';
import { sendWithToken } from '../../federation/object-request.ts';
import { withDeadline, type ConnectionPool } from '../../http/connections.ts';
import { sendRequest } from '../../http/exchange.ts';
import type { ResponseHead } from '../../http/response.ts';
import { versionOf, type Identity } from '../engine/check-response.ts';
import type { Source } from '../engine/roster.ts';
/** A loop over one page of memory, in WebAssembly: JavaScript has no 128-bit words. */
interface WasmLoop {
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

const pageBytes = 1 << 16;

/** The opcodes used here, by their names in the specification. */
const op = {
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
function leb(value: number, isSigned = false): number[] {
  const bytes: number[] = [];
  for (; value >= (isSigned ? 64 : 128); value >>>= 7) bytes.push((value & 127) | 128);
  return [...bytes, value];
}

/** The compiled loop; undefined where the machine cannot run it (128-bit words under Bun need AVX). */
function wasmLoop({ step, vectors, body, end = [] }: LoopText): WasmLoop | undefined {
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
let sharedLoop: { folding: WasmLoop | undefined } | undefined;

export function crc32cHasher(): Hasher {
  const { folding } = (sharedLoop ??= { folding: crcFolding() });
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
/** A running digest; `hex` may be called once. */
export interface Hasher {
  update(chunk: Buffer): void;
  hex(): string;
}

export type Algorithm = (typeof algorithms)[number];

export function hasher(algorithm: Algorithm): Hasher {
  if (algorithm === 'crc32c') return crc32cHasher();
  if (algorithm === 'adler32') return adler32Hasher();
  const hash = createHash(algorithm === 'sha-256' ? 'sha256' : algorithm === 'sha' ? 'sha1' : 'md5');
  return { update: (chunk) => void hash.update(chunk), hex: () => hash.digest('hex') };
}

/** The most common digest: computed until the server has named its own. */
export const likelyAlgorithm: Algorithm = 'crc32c';

/** The digest of the whole object according to a server. */
export interface ServerDigest {
  algorithm: Algorithm;
  hex: string;
  server: string;
}

/** The digest that the whole will be compared with, if it is known by now. */
export type ExpectedDigest = () => Promise<Omit<ServerDigest, 'server'> | undefined>;

/** What a server says about an object without sending it. */
export interface ObjectChecksums extends Identity {
  digest: ServerDigest | undefined;
}

/** Asks for the size and, if wanted, a digest, which may take minutes to compute. Undefined on failure. */
export async function askObject(
  source: Source,
  pool: ConnectionPool,
  waitMs: number,
  signal: AbortSignal,
  digest = true,
): Promise<ObjectChecksums | undefined> {
  try {
    const { server, located } = source;
    const send = async (ours: Record<string, string>): Promise<ResponseHead> => {
      const headers = { ...ours, ...(digest && { 'Want-Digest': wantDigest }) };
      const request = { method: 'HEAD', url: server.url, headers, headMs: waitMs, signal } as const;
      const { connection, head, url } = await sendRequest(pool, request);
      await connection.body(() => undefined);
      pool.release(url, connection);
      return head;
    };
    const head = await sendWithToken(located, server, send, ({ status }) => status);
    if (head.status !== 200) return undefined;
    const best = bestDigest(head.headers.get('digest'));
    return { ...versionOf(head), digest: best && { ...best, server: source.server.host } };
  } catch {
    return undefined;
  }
}

/** What comes in time; undefined otherwise. */
export function within<T>(
  ms: number,
  coming: Promise<T>,
  wait: { clock: Clock; signal: AbortSignal },
): Promise<T | undefined> {
  const timeoutError = () => new Error('late');
  return withDeadline({ ...wait, ms, timeoutError }, () => coming).catch(() => undefined);
}

/** The longest wait for the size before the first bytes are used. */
const sizeWaitMs = 1_000;

/** The size according to a cache whose answer, which ends with a status trailer, does not begin with it. */
export async function askSize(
  source: Source,
  pool: ConnectionPool,
  signal: AbortSignal,
): Promise<OriginFacts | undefined> {
  const size = (await askObject(source, pool, sizeWaitMs, signal, false))?.size;
  return size === undefined
    ? undefined
    : { size, isCollection: false, server: source.server.host, kind: 'cache' };
}

/** The longest wait for digests that would show that two servers have the same version. */
const compareMs = 3_000;

/** Whether the server's digest of the object is the expected one; false if one of them does not come in time. */
export async function hasDigest(
  source: Source,
  pool: ConnectionPool,
  { digest, clock, signal }: { digest: ExpectedDigest; clock: Clock; signal: AbortSignal },
): Promise<boolean> {
  const own = await within(compareMs, digest(), { clock, signal });
  const other = own && (await askObject(source, pool, compareMs, signal))?.digest;
  return other !== undefined && other.algorithm === own?.algorithm && other.hex === own.hex;
}

const nameOf: Record<Algorithm, keyof Digests> = {
  'sha-256': 'sha256',
  sha: 'sha1',
  crc32c: 'crc32c',
  md5: 'md5',
  adler32: 'adler32',
};

/** The digest of a `Digest` field to compare with. */
export function bestDigest(field: string | undefined): { algorithm: Algorithm; hex: string } | undefined {
  const offered = parseDigestHeader(field);
  for (const algorithm of algorithms) {
    const hex = offered[nameOf[algorithm]];
    if (hex !== undefined) return { algorithm, hex };
  }
  return undefined;
}

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
let sharedSum: { sum: WasmLoop | undefined } | undefined;

export function adler32Hasher(): Hasher {
  const { sum } = (sharedSum ??= { sum: summing() });
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
