import { lstatSync, type Stats } from 'node:fs';
import { freeBytes, isGone } from '@updraft/base';
import { Fault } from './fault.ts';

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

/** What an archive may contain before it is refused as hostile. */
export interface UnpackLimits {
  /** Files, folders and links together. */
  entries: number;
  /** Nested folders. */
  depth: number;
  /** Bytes out per byte in; checked once more than 1 GiB has come out. */
  ratio: number;
  /** Symbolic links: they are made last and held in memory until then. */
  links: number;
  /** Folders held in memory; beyond that they are looked up on disk and get their times early. */
  foldersHeld: number;
}

/** ImageNet-21k has 14 million files, and deflate cannot exceed 1032 to 1. */
export const defaultUnpackLimits: UnpackLimits = {
  entries: 20_000_000,
  depth: 64,
  ratio: 1100,
  links: 500_000,
  foldersHeld: 50_000,
};

const uncheckedBytes = 2 ** 30;

/** Throws once a compressed archive has expanded further than real data does. */
export function checkRatio(archive: string, bytesIn: number, bytesOut: number, limits: UnpackLimits): void {
  if (bytesOut <= uncheckedBytes || bytesOut <= bytesIn * limits.ratio) return;
  throw new Fault(
    'archive-unsafe',
    `${archive}: ${bytesIn.toLocaleString('en-US')} compressed bytes expanded to more than ` +
      `${bytesOut.toLocaleString('en-US')}, over ${limits.ratio} to 1. This looks like a decompression bomb`,
    { about: archive, fix: 'check the archive where it was made; pack data this repetitive in another way' },
  );
}

/** A failed file operation as a Fault; other errors are returned unchanged. */
export function diskFault(error: unknown, folder: string, written: number): unknown {
  if (error instanceof Fault || !isErrno(error)) return error;
  if (error.code === 'ENOSPC' || error.code === 'EDQUOT') return diskFull(error, folder, written);
  if (error.code === 'ENAMETOOLONG')
    return new Fault('archive-unsafe', `A name in the archive is too long for ${folder}: ${error.message}`, {
      about: folder,
      cause: error,
    });
  return new Fault('scratch-unusable', `cannot write to ${folder}: ${error.message}`, {
    about: folder,
    cause: error,
  });
}

export function errorCode(error: unknown): string | undefined {
  return isErrno(error) ? error.code : undefined;
}

/** The stat of a path, links not followed; undefined if there is nothing. */
export function lstatIfExists(file: string): Stats | undefined {
  try {
    return lstatSync(file);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

function diskFull(error: NodeJS.ErrnoException, folder: string, written: number): Fault {
  const free = freeBytes(folder);
  const left = free === undefined ? '' : `, ${free.toLocaleString('en-US')} bytes are free`;
  const what = error.code === 'EDQUOT' ? 'Disk quota exceeded' : 'The disk is full';
  return new Fault(
    'disk-full',
    `${what}: unpacked ${written.toLocaleString('en-US')} bytes into ${folder}${left}`,
    { about: folder, fix: 'free disk space there; for a job, request more disk', cause: error },
  );
}

function isErrno(error: unknown): error is NodeJS.ErrnoException & { code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' && 'syscall' in error;
}
