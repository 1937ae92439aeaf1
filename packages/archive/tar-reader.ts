import { isUtf8 } from 'node:buffer';
import { Fault } from './fault.ts';
import {
  andThen,
  type ByteSink,
  type EntrySink,
  type MaybePromise,
  quoted,
  safePath,
  type SafePath,
} from './entry.ts';
import type { UnpackLimits } from './budget.ts';
import { blockSize, parseTarHeader, type TarHeader, readTextField, type Name } from './tar-header.ts';

/** Long names and pax records are held in memory; macOS attributes may be large. */
const maxNameBytes = 1 << 20;
const maxPaxBytes = 16 << 20;
const zeros = Buffer.alloc(64 * 1024);

type State = 'header' | 'data' | 'meta' | 'padding' | 'after-end';

/**
 * Reads a tar fed in pieces of any size and passes its entries on: no byte of data is copied, and memory use does not
 * depend on the archive's size.
 */
export class TarReader implements ByteSink {
  readonly #archive: string;
  readonly #sink: EntrySink;
  readonly #entries: TarEntries;
  /** Holds a header that is split across pieces. */
  readonly #shared = Buffer.alloc(blockSize);
  #state: State = 'header';
  /** Bytes already in `#shared` or `#meta`. */
  #held = 0;
  #meta = { type: 'x' as MetaType, bytes: Buffer.alloc(0) };
  /** Bytes of data or padding still to come. */
  #left = 0;
  #padding = 0;
  #offset = 0;
  #headerAt = 0;
  #found = 0;
  #zeroBlocks = 0;
  #current = '';
  #waiting: MaybePromise = undefined;

  constructor(archive: string, sink: EntrySink, limits: UnpackLimits) {
    this.#archive = archive;
    this.#sink = sink;
    this.#entries = new TarEntries(archive, sink, limits);
  }

  /** Whether both end blocks were seen. */
  get ended(): boolean {
    return this.#zeroBlocks >= 2;
  }

  write(piece: Buffer): MaybePromise {
    let at = 0;
    while (at < piece.length) {
      const taken = this.#take(piece, at);
      at += taken;
      this.#offset += taken;
      if (this.#waiting !== undefined) return this.#goOn(this.#waiting, piece, at);
    }
  }

  end(): void {
    if (this.#state === 'data')
      throw this.#cut(
        `${this.#left.toLocaleString('en-US')} bytes short of the end of the file ${quoted(this.#current)}`,
      );
    if (this.#state === 'padding') throw this.#cut(`inside the padding after ${quoted(this.#current)}`);
    if (this.#state === 'meta' || (this.#state === 'header' && this.#held > 0))
      throw this.#cut('inside a header');
    if (this.#offset === 0) throw this.#damaged('is empty');
    if (this.#found === 0) throw this.#damaged('has only zeros where its first entry should be');
  }

  destroy(): void {
    this.#state = 'after-end';
  }

  async #goOn(waiting: Promise<void>, piece: Buffer, at: number): Promise<void> {
    this.#waiting = undefined;
    await waiting;
    await this.write(piece.subarray(at));
  }

  /** Uses some bytes of the piece from `at` and returns how many. */
  #take(piece: Buffer, at: number): number {
    switch (this.#state) {
      case 'header':
        return this.#takeBlock(piece, at);
      case 'data':
        return this.#takeData(piece, at);
      case 'meta':
        return this.#takeMeta(piece, at);
      case 'padding':
        return this.#takePadding(piece, at);
      case 'after-end':
        return this.#takeAfterEnd(piece, at);
    }
  }

  #takeBlock(piece: Buffer, at: number): number {
    if (this.#held === 0) this.#headerAt = this.#offset;
    if (this.#held === 0 && piece.length - at >= blockSize) {
      this.#header(piece, at);
      return blockSize;
    }
    const taken = piece.copy(this.#shared, this.#held, at, at + blockSize - this.#held);
    this.#held += taken;
    if (this.#held === blockSize) {
      this.#held = 0;
      this.#header(this.#shared, 0);
    }
    return taken;
  }

  #header(block: Buffer, at: number): void {
    const header = parseTarHeader(block, at);
    if (header === 'zeros') {
      this.#zeroBlocks++;
      if (this.ended) this.#state = 'after-end';
      return;
    }
    if (this.#zeroBlocks > 0) throw this.#moreAfterEnd();
    if (typeof header === 'string') throw this.#noHeader(header);
    this.#found++;
    const meta = this.#entries.metaType(header);
    if (meta === undefined) this.#beginEntry(header);
    else this.#beginMeta(meta, header.size);
  }

  #beginEntry(header: TarHeader): void {
    const file = this.#entries.begin(header);
    if (file === undefined) return;
    this.#current = file.name;
    this.#setLengths(file.size);
    if (this.#left > 0) this.#state = 'data';
    else this.#waiting = this.#sink.end();
  }

  #beginMeta(type: MetaType, size: number): void {
    const isPax = type === 'x' || type === 'g';
    if (isPax ? size > maxPaxBytes : size === 0 || size > maxNameBytes)
      throw this.#damaged(
        `has a header of ${size.toLocaleString('en-US')} bytes for ` +
          (isPax ? 'the attributes of one file' : 'a single name'),
      );
    this.#meta = { type, bytes: Buffer.alloc(size) };
    this.#held = 0;
    this.#setLengths(size);
    if (size > 0) this.#state = 'meta';
    else this.#entries.addMeta(type, this.#meta.bytes);
  }

  #setLengths(size: number): void {
    this.#left = size;
    this.#padding = (blockSize - (size % blockSize)) % blockSize;
  }

  #takeData(piece: Buffer, at: number): number {
    const taken = Math.min(this.#left, piece.length - at);
    this.#left -= taken;
    const whole = this.#left === 0;
    const bytes = taken === piece.length ? piece : piece.subarray(at, at + taken);
    this.#waiting = andThen(this.#sink.data(bytes), () => (whole ? this.#sink.end() : undefined));
    if (whole) this.#leaveData();
    return taken;
  }

  #takeMeta(piece: Buffer, at: number): number {
    const taken = piece.copy(this.#meta.bytes, this.#held, at);
    this.#held += taken;
    if (this.#held === this.#meta.bytes.length) {
      this.#held = 0;
      this.#entries.addMeta(this.#meta.type, this.#meta.bytes);
      this.#meta.bytes = Buffer.alloc(0);
      this.#leaveData();
    }
    return taken;
  }

  #leaveData(): void {
    this.#left = this.#padding;
    this.#state = this.#left > 0 ? 'padding' : 'header';
  }

  #takePadding(piece: Buffer, at: number): number {
    const taken = Math.min(this.#left, piece.length - at);
    this.#left -= taken;
    if (this.#left === 0) this.#state = 'header';
    return taken;
  }

  #takeAfterEnd(piece: Buffer, at: number): number {
    const taken = Math.min(zeros.length, piece.length - at);
    if (zeros.compare(piece, at, at + taken, 0, taken) !== 0) throw this.#moreAfterEnd();
    return taken;
  }

  #moreAfterEnd(): Fault {
    return this.#damaged(
      `continues after its end mark (before byte ${this.#offset.toLocaleString('en-US')}): part of it was replaced ` +
        'by zeros, or several archives were concatenated',
    );
  }

  #noHeader(why: 'not-a-header' | 'bad-number'): Fault {
    if (why === 'not-a-header' && this.#found === 0)
      return new Fault('archive-kind', `${this.#archive}: does not contain a tar archive`, {
        about: this.#archive,
      });
    const what = why === 'bad-number' ? 'an unreadable number' : 'a wrong checksum';
    return this.#damaged(`${this.#nextEntry()} has a header with ${what}`);
  }

  #nextEntry(): string {
    const after = this.#current === '' ? '' : ` after ${quoted(this.#current)}`;
    return `the entry${after} at byte ${this.#headerAt.toLocaleString('en-US')}`;
  }

  #cut(where: string): Fault {
    return this.#damaged(`ends at byte ${this.#offset.toLocaleString('en-US')}, ${where}`);
  }

  #damaged(what: string): Fault {
    return new Fault('archive-damaged', `${this.#archive}: ${what}`, { about: this.#archive });
  }
}

/** Entries that only describe the next one (or, for `g`, all that follow). */
type MetaType = 'x' | 'g' | 'L' | 'K';

const refused: Readonly<Record<string, string>> = {
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a named pipe',
  D: 'a directory list of a GNU tar incremental backup',
  M: 'the rest of a file from another volume',
};
/** All others are attributes, owners and comments, and are dropped. */
const keptRecords = /^(?:path|linkpath|size|mtime|SUN\.holesdata|GNU\.sparse\.\w+)$/;
/** GNU tar writes sparse files only with -S, bsdtar (`tar` of macOS) unless an option says otherwise. */
const repackSparse =
  'unpack it, and pack the folder again without -S: tar -cf NEW.tar FOLDER; with bsdtar, also the tar of macOS: ' +
  'tar --no-read-sparse -cf NEW.tar FOLDER';
/** Far more than an archive needs; global headers are held until its end. */
const maxGlobalBytes = 16 << 20;

/** Pax records by keyword; an empty value cancels an earlier one. */
type Records = Map<string, Buffer>;

/** A file of which `size` bytes follow. */
interface TarFile {
  name: string;
  size: number;
}

/** Combines headers, long names and pax records into entries and passes those on. */
class TarEntries {
  readonly #archive: string;
  readonly #sink: EntrySink;
  readonly #limits: UnpackLimits;
  readonly #global: Records = new Map();
  #globalBytes = 0;
  #local: Records = new Map();
  #longName: Name | undefined;
  #longTarget: Name | undefined;

  constructor(archive: string, sink: EntrySink, limits: UnpackLimits) {
    this.#archive = archive;
    this.#sink = sink;
    this.#limits = limits;
  }

  metaType(header: TarHeader): MetaType | undefined {
    switch (header.type) {
      case 'x':
      case 'g':
      case 'L':
      case 'K':
        return header.type;
      // Solaris writes X for x.
      case 'X':
        return 'x';
      default:
        return undefined;
    }
  }

  addMeta(type: MetaType, bytes: Buffer): void {
    if (type === 'L') this.#longName = readTextField(bytes, 0, bytes.length);
    else if (type === 'K') this.#longTarget = readTextField(bytes, 0, bytes.length);
    else {
      if (type === 'g') this.#countGlobal(bytes.length);
      const records = type === 'x' ? new Map<string, Buffer>() : this.#global;
      const isRead = readPax(bytes, (key, value) => {
        if (keptRecords.test(key)) records.set(key, Buffer.from(value));
      });
      if (!isRead)
        throw new Fault('archive-damaged', `${this.#archive}: has a pax header that cannot be read`, {
          about: this.#archive,
        });
      if (type === 'x') this.#local = records;
    }
  }

  /** Passes the entry on; if it is a file, returns what bytes follow. */
  begin(header: TarHeader): TarFile | undefined {
    const name = this.#named(
      this.#pax('GNU.sparse.name') ?? this.#pax('path') ?? this.#longName ?? header.name,
    );
    const isLink = header.type === '1' || header.type === '2';
    const target = isLink ? this.#named(this.#pax('linkpath') ?? this.#longTarget ?? header.target) : '';
    const size = this.#number('size', name) ?? header.size;
    const mtime = this.#number('mtime', name) ?? header.mtime;
    this.#refuseUnsupported(header.type, name);
    this.#refuseSparse(header.type, name);
    this.#local = new Map();
    this.#longName = this.#longTarget = undefined;
    // A volume label names the archive and is not a file.
    if (header.type === 'V') return undefined;
    const path = safePath(name, this.#archive, this.#limits.depth);
    const { mode } = header;
    switch (this.#typeOf(header.type, name)) {
      case 'folder':
        this.#sink.place({ type: 'folder', path, mode, mtime });
        return undefined;
      case 'symlink':
        this.#sink.place({ type: 'symlink', path: this.#notRoot(path, name), target });
        return undefined;
      case 'hardlink': {
        const to = safePath(target, this.#archive, this.#limits.depth);
        this.#sink.place({ type: 'hardlink', path: this.#notRoot(path, name), target: to });
        return undefined;
      }
      case 'file':
        this.#sink.begin({ type: 'file', path: this.#notRoot(path, name), mode, mtime, size });
        return { name, size };
    }
  }

  #typeOf(type: string, name: string): 'file' | 'folder' | 'symlink' | 'hardlink' {
    if (type === '1') return 'hardlink';
    if (type === '2') return 'symlink';
    // The oldest archives mark folders only by a trailing slash.
    return type === '5' || name.endsWith('/') ? 'folder' : 'file';
  }

  #refuseUnsupported(type: string, name: string): void {
    const what = refused[type];
    if (what === undefined && /^[01257SV]$/.test(type)) return;
    throw this.#refused(
      name,
      what ?? `of the unknown type ${quoted(type)}`,
      'repack with only files, folders and links',
    );
  }

  #refused(name: string, what: string, fix: string): Fault {
    return new Fault(
      'archive-unsafe',
      `${this.#archive}: the entry ${quoted(name)} is ${what}, which Updraft does not unpack`,
      { about: this.#archive, fix },
    );
  }

  /** Sparse files are marked by the header (old GNU, star) or by pax records (GNU, bsdtar, Solaris). */
  #refuseSparse(type: string, name: string): void {
    const isMarked = [...this.#local.keys(), ...this.#global.keys()].some((key) =>
      /^(?:GNU|SUN)\./.test(key),
    );
    if (type === 'S' || isMarked) throw this.#refused(name, 'a sparse file', repackSparse);
  }

  #notRoot(path: SafePath, name: string): SafePath {
    if (path !== '') return path;
    throw new Fault(
      'archive-unsafe',
      `${this.#archive}: the entry ${quoted(name)} would replace the folder itself`,
      { about: this.#archive },
    );
  }

  #pax(key: string): Buffer | undefined {
    const value = this.#local.get(key) ?? this.#global.get(key);
    return value?.length === 0 ? undefined : value;
  }

  #number(key: string, name: string): number | undefined {
    const value = this.#pax(key)?.toString('latin1');
    if (value === undefined) return undefined;
    const read = paxNumber(value);
    const wrong = key !== 'mtime' && !(Number.isSafeInteger(read) && Number(read) >= 0);
    if (read !== undefined && !wrong) return read;
    throw new Fault(
      'archive-damaged',
      `${this.#archive}: the entry ${quoted(name)} has an invalid ${key}, ${quoted(value)}`,
      { about: this.#archive },
    );
  }

  #countGlobal(bytes: number): void {
    this.#globalBytes += bytes;
    if (this.#globalBytes <= maxGlobalBytes) return;
    throw new Fault('archive-unsafe', `${this.#archive}: has more than 16 MiB of global pax headers`, {
      about: this.#archive,
      fix: 'repack from the files: an archive needs one such header or none',
    });
  }

  /** A tar does not state the encoding of a name that is not UTF-8. */
  #named(name: Name): string {
    if (typeof name === 'string') return name;
    if (isUtf8(name)) return name.toString('utf8');
    throw new Fault(
      'archive-unsafe',
      `${this.#archive}: the entry ${quoted(name.toString('latin1'))} (read as Latin-1) has a name that is not UTF-8`,
      { about: this.#archive, fix: 'rename it (convmv -f latin1 -t utf8 -r FOLDER) and repack' },
    );
  }
}

/**
 * Reads `length keyword=value\n` records one by one; false if the bytes are not such records. Values are bytes: some
 * writers put raw file attributes there.
 */
export function readPax(bytes: Buffer, take: (key: string, value: Buffer) => void): boolean {
  let at = 0;
  while (at < bytes.length) {
    // Some writers pad the block with zeros.
    if (bytes[at] === 0) break;
    const space = bytes.indexOf(0x20, at);
    const length = space === -1 ? NaN : decimal(bytes.toString('latin1', at, space));
    const end = at + length;
    if (!(end <= bytes.length) || bytes[end - 1] !== 0x0a) return false;
    const equals = bytes.subarray(0, end).indexOf(0x3d, space);
    if (equals === -1) return false;
    take(bytes.toString('utf8', space + 1, equals), bytes.subarray(equals + 1, end - 1));
    at = end;
  }
  return true;
}

/** A pax decimal such as a size or a time. */
export function paxNumber(value: string): number | undefined {
  return /^-?\d+(?:\.\d*)?$/.test(value) ? Number(value) : undefined;
}

function decimal(digits: string): number {
  return /^[1-9]\d{0,9}$/.test(digits) ? Number(digits) : NaN;
}
