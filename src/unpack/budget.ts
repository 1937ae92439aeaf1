import { Fault } from '../fault/fault.ts';
import type { UnpackLimits } from './limits.ts';

/** What the user says the archive holds: files, and bytes in those files. */
export interface Expected {
  files?: number;
  bytes?: number;
}

/** Beyond twice what is expected, and this, no entry that replaces an earlier one can make up for the surplus. */
const slack = { files: 1000, bytes: 128 << 20 };

/**
 * Counts what comes out of an archive and stops it as soon as it is more than allowed or possible, or far more than
 * expected. Whether it is exactly what is expected is seen at the end, since a later entry may replace an earlier one.
 */
export class Budget {
  files = 0;
  bytes = 0;
  #entries = 0;
  /** Bytes that take room; a hard link takes none. */
  #written = 0;
  readonly #archive: string;
  readonly #expect: Expected;
  readonly #limits: UnpackLimits;
  readonly #askFree: () => number | undefined;
  /** Bytes that may be written in all, by the room there was when it was last asked for. */
  #room: number;

  constructor(
    archive: string,
    expect: Expected,
    limits: UnpackLimits,
    askFree: () => number | undefined = () => undefined,
  ) {
    this.#archive = archive;
    this.#expect = expect;
    this.#limits = limits;
    this.#askFree = askFree;
    this.#room = askFree() ?? Infinity;
  }

  addEntry(): void {
    this.#entries++;
    this.#stopFarBeyond('files', this.files);
    if (this.#entries > this.#limits.entries)
      throw new Fault(
        'archive-unsafe',
        `${this.#archive}: holds more than ${this.#limits.entries.toLocaleString('en-US')} entries`,
        { about: this.#archive },
      );
  }

  /** A file whose size may be known ahead: one too big for the disk is refused before its bytes are written. */
  addFile(size = 0): void {
    this.addEntry();
    this.files++;
    this.#check(size);
  }

  addBytes(bytes: number): void {
    this.bytes += bytes;
    this.#written += bytes;
    this.#stopFarBeyond('bytes', this.bytes);
    this.#check(0);
  }

  /** Zeros that are read like any bytes and take no room. */
  addHole(bytes: number): void {
    this.bytes += bytes;
    this.#stopFarBeyond('bytes', this.bytes);
  }

  addHardlink(size: number): void {
    this.addEntry();
    this.files++;
    this.bytes += size;
  }

  /** An entry was replaced by a later one; `taken` is the room it took. */
  removeFile(size: number, taken = size): void {
    this.files--;
    this.bytes -= size;
    this.#written -= Math.min(size, taken);
  }

  /** The archive is over: what came out must be exactly what was expected. */
  settle(): void {
    this.#compare('files', this.files);
    this.#compare('bytes', this.bytes);
  }

  #compare(what: 'files' | 'bytes', found: number): void {
    const expected = this.#expect[what];
    if (expected === undefined || expected === found) return;
    throw this.#unexpected(what, found.toLocaleString('en-US'), expected);
  }

  #stopFarBeyond(what: 'files' | 'bytes', found: number): void {
    const expected = this.#expect[what];
    if (expected === undefined || found <= 2 * expected + slack[what]) return;
    throw this.#unexpected(what, `more than ${(2 * expected).toLocaleString('en-US')}`, expected);
  }

  #unexpected(what: 'files' | 'bytes', found: string, expected: number): Fault {
    return new Fault(
      'data-unexpected',
      `${this.#archive}: holds ${found} ${what} where ${expected.toLocaleString('en-US')} are expected`,
      { about: this.#archive, fix: 'If the data changed on purpose, change `expect` in the job file.' },
    );
  }

  #check(ahead: number): void {
    const needed = this.#written + ahead;
    if (needed <= this.#room) return;
    // A training may have removed what it has used of data that still arrives.
    this.#room = this.#written + (this.#askFree() ?? Infinity);
    if (needed > this.#room)
      throw new Fault(
        'disk-full',
        `${this.#archive}: needs at least ${needed.toLocaleString('en-US')} bytes unpacked, ` +
          `and the disk had ${this.#room.toLocaleString('en-US')} free`,
        { about: this.#archive, fix: 'Make room there; for a job, ask for more disk.' },
      );
  }
}
