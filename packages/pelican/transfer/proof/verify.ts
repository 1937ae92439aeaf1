import { setImmediate as nextTurn } from 'node:timers/promises';
import { Fault as AnyFault } from '@updraft/base';
import type { Range } from '../engine/segments.ts';
import type { OnDamaged } from '../sinks/sink.ts';
import { joinCrc32c, type Hasher, hasher, type Algorithm } from './digest.ts';
import { chunkProof, chunkRange, type ChunkProof, type Manifest } from './manifest.ts';
import { Fault } from '../../fault.ts';
import type { FetchOptions } from '../fetch.ts';

/** Reads back what was written. */
export interface ReadBack {
  read(start: number, end: number, hash: Hasher): void;
}

/** Read back at most this much at once, to keep the event loop responsive. */
const maxReadBack = 16 << 20;

/** Digest of a whole file whose parts arrive in any order. */
export interface FileHash {
  readonly algorithm: Algorithm;
  wrote(offset: number, chunk: Buffer): void;
  /** Everything before `end` has arrived: reads back some of what was not hashed, and returns whether that was all. */
  follow(file: ReadBack, end: number): boolean;
  hex(): string;
}

export const fileHash = (algorithm: Algorithm): FileHash =>
  algorithm === 'crc32c' ? new PiecesCrc() : new OrderedHash(algorithm);

interface Piece {
  start: number;
  end: number;
  /** CRC of the bytes from `start` to where `hash` begins. */
  before: string;
  hashedFrom: number;
  hash: Hasher;
}

/** CRCs of pieces can be joined, so bytes that passed through are not read back. */
class PiecesCrc implements FileHash {
  readonly algorithm = 'crc32c';
  #pieces: Piece[] = [];

  wrote(offset: number, chunk: Buffer): void {
    const end = offset + chunk.length;
    const piece = this.#pieces.find((one) => one.end === offset) ?? this.#open(offset);
    // Bytes written a second time may differ: then the piece is read back.
    this.#pieces = this.#pieces.filter((one) => one === piece || one.end <= offset || one.start >= end);
    piece.hash.update(chunk);
    this.#reach(piece, end);
  }

  follow(file: ReadBack, end: number): boolean {
    const first = this.#pieces.find(({ start }) => start === 0) ?? this.#open(0);
    if (first.end < end) {
      const later = this.#pieces.map(({ start }) => start).filter((start) => start > first.end);
      const to = Math.min(end, first.end + maxReadBack, ...later);
      file.read(first.end, to, first.hash);
      this.#reach(first, to);
    }
    return this.#pieces.some((one) => one.start === 0 && one.end >= end);
  }

  hex(): string {
    const whole = this.#pieces.find(({ start }) => start === 0);
    return whole === undefined ? hasher('crc32c').hex() : crcOf(whole);
  }

  #open(start: number): Piece {
    const piece = { start, end: start, before: '00000000', hashedFrom: start, hash: hasher('crc32c') };
    this.#pieces.push(piece);
    return piece;
  }

  #reach(piece: Piece, end: number): void {
    piece.end = end;
    const next = this.#pieces.find((one) => one !== piece && one.start === end);
    if (next === undefined) return;
    next.before = joinCrc32c(crcOf(piece), next.before, next.hashedFrom - next.start);
    next.start = piece.start;
    this.#pieces = this.#pieces.filter((one) => one !== piece);
  }
}

const crcOf = ({ before, hash, hashedFrom, end }: Piece): string =>
  joinCrc32c(before, hash.hex(), end - hashedFrom);

/** Hashes bytes that arrive in order and reads back the rest. */
class OrderedHash implements FileHash {
  readonly algorithm: Algorithm;
  #hash: Hasher;
  #position = 0;

  constructor(algorithm: Algorithm) {
    this.algorithm = algorithm;
    this.#hash = hasher(algorithm);
  }

  wrote(offset: number, chunk: Buffer): void {
    if (offset < this.#position) {
      this.#hash = hasher(this.algorithm);
      this.#position = 0;
    }
    if (offset !== this.#position) return;
    this.#hash.update(chunk);
    this.#position += chunk.length;
  }

  follow(file: ReadBack, end: number): boolean {
    const to = Math.min(end, this.#position + maxReadBack);
    if (to > this.#position) {
      file.read(this.#position, to, this.#hash);
      this.#position = to;
    }
    return to === end;
  }

  hex(): string {
    return this.#hash.hex();
  }
}

interface OpenChunk {
  /** Undefined once bytes arrived out of order: the chunk is then read back. */
  proof: ChunkProof | undefined;
  position: number;
  received: number;
  servers: Set<string>;
}

/** Verifies a file chunk by chunk while its bytes arrive. */
export class ChunkCheck {
  readonly #manifest: Manifest;
  readonly #file: ReadBack;
  readonly #onDamaged: OnDamaged;
  readonly #open = new Map<number, OpenChunk>();

  constructor(manifest: Manifest, file: ReadBack, onDamaged: OnDamaged) {
    this.#manifest = manifest;
    this.#file = file;
    this.#onDamaged = onDamaged;
  }

  wrote(offset: number, chunk: Buffer, server: string): void {
    for (let at = 0; at < chunk.length;) {
      const index = Math.floor((offset + at) / this.#manifest.chunkBytes);
      const range = chunkRange(this.#manifest, index);
      const length = Math.min(chunk.length - at, range.end - (offset + at));
      this.#add(index, range, offset + at, chunk.subarray(at, at + length), server);
      at += length;
    }
  }

  #add(index: number, range: Range, offset: number, bytes: Buffer, server: string): void {
    let chunk = this.#open.get(index);
    if (chunk === undefined) {
      const proof = chunkProof(this.#manifest, index);
      chunk = { proof, position: range.start, received: 0, servers: new Set() };
      this.#open.set(index, chunk);
    }
    chunk.received += bytes.length;
    chunk.servers.add(server);
    if (chunk.position === offset) chunk.proof?.hash.update(bytes);
    else chunk.proof = undefined;
    chunk.position += bytes.length;
    if (chunk.received < range.end - range.start) return;
    this.#open.delete(index);
    const proof = chunk.proof ?? readChunk(this.#manifest, this.#file, index);
    const found = proof.hash.hex();
    if (found !== proof.expected) this.#onDamaged(range, chunk.servers, found);
  }
}

/** The intact whole chunks in the ranges that an earlier attempt wrote; yields to the event loop between chunks. */
export async function verifiedRanges(
  manifest: Manifest,
  file: ReadBack,
  done: readonly Range[],
  signal: AbortSignal,
): Promise<Range[]> {
  const good: Range[] = [];
  for (const { start, end } of done) {
    for (let index = Math.ceil(start / manifest.chunkBytes); index < manifest.chunks.length; index++) {
      const range = chunkRange(manifest, index);
      if (range.end > end) break;
      const { hash, expected } = readChunk(manifest, file, index);
      if (hash.hex() === expected) good.push(range);
      await nextTurn();
      signal.throwIfAborted();
    }
  }
  return good;
}

function readChunk(manifest: Manifest, file: ReadBack, index: number): ChunkProof {
  const { start, end } = chunkRange(manifest, index);
  const proof = chunkProof(manifest, index);
  file.read(start, end, proof.hash);
  return proof;
}

const wrongKinds = ['data-corrupt', 'data-wrong', 'archive-damaged', 'archive-kind', 'data-unexpected'];
const fix = 'correct `sha256`, `expect` or the manifest, or publish the right object under a new name';

/** The same bytes came twice and are not what was expected: no other server and no other machine has better ones. */
export function expectWrong(about: string, what: string, servers: Iterable<string>): Fault {
  // An earlier attempt does not say which server sent its bytes.
  const who = [...new Set(servers)].filter((server) => server !== '');
  const same = who.length > 1 ? `${who.join(' and ')} have the same` : `${who[0]} sent the same twice`;
  return new Fault('expect-wrong', `${what}; ${same}`, { about, fix });
}

/**
 * Delivers an object to a reader that takes its bytes in order. If it is wrong, it comes once more, from servers that
 * had no part in the first delivery, if there are any; if it is wrong in the same way, so is what the user expects.
 */
export async function deliverAgainIfWrong<Options extends FetchOptions, Delivered>(
  about: string,
  options: Options,
  deliver: (options: Options, isAgain: boolean) => Promise<Delivered>,
): Promise<Delivered> {
  let sent: string[] = [];
  const { suspects = new Set(), manifest, sha256 } = options;
  const own = { ...options, suspects, onSenders: (servers: string[]) => void (sent = servers) };
  try {
    return await deliver(own, false);
  } catch (error) {
    const isWrong = error instanceof AnyFault && wrongKinds.includes(String(error.kind));
    // Verified bytes will be the same again, and so will a file that no server sent.
    const isVerified = manifest !== undefined || (isWrong && error.cause instanceof AnyFault);
    if (!isWrong || isVerified || sent.length === 0) throw error;
    const first = sent;
    options.onEvent?.({ kind: 'setback', server: first.join(', '), fault: error });
    for (const server of first) suspects.add(server);
    return await deliver(own, true).catch((again: unknown) => {
      const isExpected =
        error.kind === 'data-unexpected' || (error.kind === 'data-corrupt' && sha256 !== undefined);
      const isSame =
        again instanceof AnyFault && again.kind === error.kind && again.message === error.message;
      throw isExpected && isSame ? expectWrong(about, error.message, [...first, ...sent]) : again;
    });
  }
}
