import { Fault } from './fault.ts';
import type { UnpackLimits } from './limits.ts';

/** What the user says the archive holds: files, and bytes in those files. */
export interface Expected {
  files?: number;
  bytes?: number;
}

/** Added to twice what is expected: a surplus beyond that stops the unpacking before the archive ends. */
const slack = { files: 1000, bytes: 128 << 20 };

/**
 * Counts what comes out of an archive, and throws as soon as it exceeds the limits or the free disk space, or is far
 * more than expected. The exact comparison waits for the end, since a later entry may replace an earlier one.
 */
export class Budget {
  files = 0;
  bytes = 0;
  #entries = 0;
  /** Bytes that take disk space; a hard link takes none. */
  #written = 0;
  readonly #archive: string;
  readonly #expect: Expected;
  readonly #limits: UnpackLimits;
  readonly #askFree: () => number | undefined;
  /** Bytes that may be written in total, from the free space when it was last queried. */
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

  /** If the size is known ahead, a file too big for the disk is refused before its bytes are written. */
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

  addHardlink(size: number): void {
    this.addEntry();
    this.files++;
    this.bytes += size;
  }

  /** An entry was replaced by a later one; `taken` is the disk space it took. */
  removeFile(size: number, taken = size): void {
    this.files--;
    this.bytes -= size;
    this.#written -= Math.min(size, taken);
  }

  /** At the end of the archive: what came out must be exactly what was expected. */
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
      `${this.#archive}: holds ${found} ${what}, expected ${expected.toLocaleString('en-US')}`,
      { about: this.#archive, fix: 'if the data was changed on purpose, update `expect` in the job file' },
    );
  }

  #check(ahead: number): void {
    const needed = this.#written + ahead;
    if (needed <= this.#room) return;
    // The training may have removed files it no longer needs while the rest arrives.
    this.#room = this.#written + (this.#askFree() ?? Infinity);
    if (needed > this.#room)
      throw new Fault(
        'disk-full',
        `${this.#archive}: needs at least ${needed.toLocaleString('en-US')} bytes unpacked, ` +
          `but the disk had ${this.#room.toLocaleString('en-US')} free`,
        { about: this.#archive, fix: 'free disk space there; for a job, request more disk' },
      );
  }
}
