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
import { encodingOf, versionOf, type Identity } from '../engine/check-response.ts';
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

const pageBytes = 1 << 16;

/** The opcodes used here, by their names in the specification. */
const op = {
  localGet: 0x20,
  i32Const: 0x41,
  v128Load: [0xfd, 0x00, 0],
  v128Store: [0xfd, 0x0b, 0],
  v128Xor: [0xfd, 0x51],
};

/** A number in WebAssembly's encoding (LEB128). */
function leb(value: number): number[] {
  const bytes: number[] = [];
  for (; value >= 128; value >>>= 7) bytes.push((value & 127) | 128);
  return [...bytes, value];
}

/** The loop with this body, compiled; undefined where the machine cannot run it (128-bit words under Bun need AVX). */
function wasmLoop(body: readonly number[]): WasmLoop | undefined {
  const i32 = 0x7f;
  const next = [op.localGet, 0, op.i32Const, ...leb(step), 0x6a /* add */, 0x22 /* tee */, 0];
  const again = [op.localGet, 1, 0x49 /* less */, 0x0d /* br_if */, 0];
  const text = [0 /* locals */, 0x03, 0x40, ...body, ...next, ...again, 0x0b, 0x0b];
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
  return wasmLoop(body);
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
    // The size of an encoding is none of the object's.
    if (head.status !== 200 || encodingOf(head) !== undefined) return undefined;
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
/** The sums of this many bytes are exact. */
const blockBytes = 2048;

/** Few servers have nothing better: it is not worth instructions of its own. */
export function adler32Hasher(): Hasher {
  let [a, b] = [1, 0];
  return {
    update(chunk) {
      for (let at = 0; at < chunk.length;) {
        for (const end = Math.min(at + blockBytes, chunk.length); at < end; at++) {
          a += chunk[at] ?? 0;
          b += a;
        }
        a %= modulus;
        b %= modulus;
      }
    },
    hex: () => (b * 65536 + a).toString(16).padStart(8, '0'),
  };
}
