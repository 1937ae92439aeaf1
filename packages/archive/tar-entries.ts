import { isUtf8 } from 'node:buffer';
import { Fault } from './fault.ts';
import type { EntrySink } from './entry.ts';
import type { UnpackLimits } from './limits.ts';
import { quoted, safePath, type SafePath } from './safe-path.ts';
import { readTextField, type Name, type TarHeader } from './tar-header.ts';

/** Entries that only describe the next one (or, for `g`, all that follow). */
export type MetaType = 'x' | 'g' | 'L' | 'K';

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
export interface TarFile {
  name: string;
  size: number;
}

/** Combines headers, long names and pax records into entries and passes those on. */
export class TarEntries {
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
