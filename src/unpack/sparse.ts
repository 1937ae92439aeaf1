import { Fault } from '../fault/fault.ts';
import type { EntrySink, MaybePromise } from './entry.ts';
import { quoted } from './safe-path.ts';
import { blockSize, tarNumber } from './tar-header.ts';

/** More than real files have; each is held in memory until its file is complete. */
const maxPieces = 500_000;
/** Pieces in an old GNU header and in each block that continues it. */
const inHeader = 4;
const inBlock = 21;
const pieceBytes = 24;

/** A file with holes: the map says which bytes are stored and where they belong. */
export class SparseFile {
  readonly #archive: string;
  readonly #name: string;
  readonly #sink: EntrySink;
  /** Offset and length of each piece, alternating. */
  readonly #pieces: number[];
  readonly #size: number;
  /** The format in which more of the map follows before the data, if any does. */
  #more: 'gnu' | 'pax' | undefined;
  #text = '';
  #next = 0;
  /** Bytes of the file written so far, and where the piece being written ends. */
  #at = 0;
  #pieceEnd = 0;

  constructor(
    entry: { archive: string; name: string; sink: EntrySink },
    map: { pieces?: number[]; size: number; more?: 'gnu' | 'pax' | undefined },
  ) {
    this.#archive = entry.archive;
    this.#name = entry.name;
    this.#sink = entry.sink;
    this.#pieces = map.pieces ?? [];
    this.#size = map.size;
    this.#more = map.more;
    if (!(Number.isSafeInteger(map.size) && map.size >= 0)) throw this.damaged('has an impossible size');
  }

  /** Whether a block of the map comes next. */
  get wantsMap(): boolean {
    return this.#more !== undefined;
  }

  /** Takes one block of the map; returns how many of the stored bytes it uses. */
  addMap(block: Buffer): number {
    if (this.#more === 'gnu') {
      if (!readPieces(block, 0, inBlock, this.#pieces)) throw this.damaged('cannot be read');
      if (block[inBlock * pieceBytes] !== 1) this.#more = undefined;
      this.#checkCount();
      return 0;
    }
    this.#text += block.toString('latin1');
    this.#takeNumbers();
    return blockSize;
  }

  /** Checks the complete map; `stored` bytes of data follow it. */
  checkMap(stored: number): void {
    let end = 0;
    let bytes = 0;
    for (let i = 0; i < this.#pieces.length; i += 2) {
      const [offset = NaN, length = NaN] = this.#pieces.slice(i, i + 2);
      if (!(offset >= end && length >= 0 && offset + length <= this.#size))
        throw this.damaged('has pieces that overlap or lie beyond its end');
      end = offset + length;
      bytes += length;
    }
    if (bytes !== stored) throw this.damaged('does not cover all of its bytes');
  }

  data(piece: Buffer): MaybePromise {
    for (let at = 0; at < piece.length;) {
      if (this.#at === this.#pieceEnd) {
        const waiting = this.#skipTo(this.#pieces[this.#next] ?? this.#size);
        this.#pieceEnd = this.#at + (this.#pieces[this.#next + 1] ?? 0);
        this.#next += 2;
        if (waiting !== undefined) return waiting.then(() => this.data(piece.subarray(at)));
        continue;
      }
      const taken = Math.min(this.#pieceEnd - this.#at, piece.length - at);
      const waiting = this.#sink.data(piece.subarray(at, at + taken));
      at += taken;
      this.#at += taken;
      if (waiting !== undefined) return waiting.then(() => this.data(piece.subarray(at)));
    }
  }

  end(): MaybePromise {
    const waiting = this.#skipTo(this.#size);
    return waiting === undefined ? this.#sink.end() : waiting.then(() => this.#sink.end());
  }

  damaged(what: string): Fault {
    return new Fault(
      'archive-damaged',
      `${this.#archive}: the map of the sparse file ${quoted(this.#name)} ${what}`,
      { about: this.#archive },
    );
  }

  #skipTo(offset: number): MaybePromise {
    const hole = offset - this.#at;
    this.#at = offset;
    return hole > 0 ? this.#sink.hole(hole) : undefined;
  }

  /** The map as text: the number of pieces, then offset and length of each, one per line. */
  #takeNumbers(): void {
    const lines = this.#text.split('\n');
    this.#text = lines.pop() ?? '';
    if (this.#text.length > 20 && /[^\0]/.test(this.#text)) throw this.damaged('cannot be read');
    for (const line of lines) {
      if (!/^\d{1,16}$/.test(line)) throw this.damaged('cannot be read');
      this.#pieces.push(Number(line));
      this.#checkCount();
      if (this.#pieces.length === 1 + 2 * (this.#pieces[0] ?? 0)) {
        this.#pieces.shift();
        this.#more = undefined;
        return;
      }
    }
  }

  #checkCount(): void {
    if (this.#pieces.length <= 2 * maxPieces) return;
    throw new Fault(
      'archive-unsafe',
      `${this.#archive}: the sparse file ${quoted(this.#name)} has more than ${maxPieces.toLocaleString('en-US')} pieces`,
      { about: this.#archive, fix: repackSparse },
    );
  }
}

export const repackSparse = 'repack without --sparse: tar -cf NEW.tar FOLDER';

/** The sparse map in an old GNU header; undefined if it cannot be read or another program wrote it. */
export function oldSparse(
  block: Buffer,
  at: number,
): { pieces: number[]; size: number; more: 'gnu' | undefined } | undefined {
  const pieces: number[] = [];
  const size = tarNumber(block, at + 483, 12);
  if (block.toString('latin1', at + 257, at + 264) !== 'ustar  ' || size === undefined) return undefined;
  if (!readPieces(block, at + 386, inHeader, pieces)) return undefined;
  return { pieces, size, more: block[at + 482] === 1 ? 'gnu' : undefined };
}

/** Unused slots are zeros. */
function readPieces(block: Buffer, at: number, count: number, pieces: number[]): boolean {
  for (let i = at; i < at + count * pieceBytes && block[i] !== 0; i += pieceBytes) {
    const [offset, length] = [tarNumber(block, i, 12), tarNumber(block, i + 12, 12)];
    if (offset === undefined || length === undefined) return false;
    pieces.push(offset, length);
  }
  return true;
}
