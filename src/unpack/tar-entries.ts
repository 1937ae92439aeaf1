import { isUtf8 } from 'node:buffer';
import { Fault } from '../fault/fault.ts';
import type { EntrySink } from './entry.ts';
import type { Limits } from './limits.ts';
import { quoted, safePath, type SafePath } from './safe-path.ts';
import { text, type TarHeader } from './tar-header.ts';

/** Entries that only describe the next one (or, for `g`, all that follow). */
export type MetaType = 'x' | 'g' | 'L' | 'K';

const refused: Readonly<Record<string, string>> = {
  '3': 'a character device',
  '4': 'a block device',
  '6': 'a named pipe',
  D: "a folder list of GNU tar's incremental backups",
  M: 'the continuation of a file from another volume',
  S: 'a sparse file',
};

/** Puts headers, long names and pax records together into entries and hands those on. */
export class TarEntries {
  readonly #archive: string;
  readonly #sink: EntrySink;
  readonly #limits: Limits;
  readonly #global = new Map<string, string>();
  #local: PaxRecords = new Map();
  #longName: string | undefined;
  #longTarget: string | undefined;

  constructor(archive: string, sink: EntrySink, limits: Limits) {
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
      // Sun's name for the same thing.
      case 'X':
        return 'x';
      default:
        return undefined;
    }
  }

  addMeta(type: MetaType, bytes: Buffer): void {
    if (type === 'L') this.#longName = this.#name(bytes);
    else if (type === 'K') this.#longTarget = this.#name(bytes);
    else {
      const records = parsePax(bytes);
      if (records === undefined)
        throw new Fault('archive-damaged', `${this.#archive}: has a pax header that cannot be read`, {
          about: this.#archive,
        });
      if (type === 'x') this.#local = records;
      else for (const [key, value] of records) this.#global.set(key, value);
    }
  }

  /** Hands the entry on; if it is a file, says how many bytes follow. */
  begin(header: TarHeader): { name: string; size: number } | undefined {
    const name = this.#pax('path') ?? this.#longName ?? header.name;
    const target = this.#pax('linkpath') ?? this.#longTarget ?? header.target;
    const size = this.#number('size', name) ?? header.size;
    const mtime = this.#number('mtime', name) ?? header.mtime;
    this.#refuseOddities(header.type, name);
    this.#local = new Map();
    this.#longName = this.#longTarget = undefined;
    // A volume label names the archive and is no file.
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
    // The oldest archives mark folders by the slash alone.
    return type === '5' || name.endsWith('/') ? 'folder' : 'file';
  }

  #refuseOddities(type: string, name: string): void {
    const sparse = [...this.#local.keys()].some((key) => key.startsWith('GNU.sparse.'));
    const what = sparse ? refused['S'] : refused[type];
    if (what === undefined && /^[01257V]$/.test(type)) return;
    const fix =
      what === refused['S']
        ? 'Pack it again without --sparse.'
        : 'Pack it again with only files, folders and links.';
    throw new Fault(
      'archive-unsafe',
      `${this.#archive}: the entry ${quoted(name)} is ${what ?? `of the unknown type ${quoted(type)}`}, which is not unpacked`,
      { about: this.#archive, fix },
    );
  }

  #notRoot(path: SafePath, name: string): SafePath {
    if (path !== '') return path;
    throw new Fault(
      'archive-unsafe',
      `${this.#archive}: the entry ${quoted(name)} would replace the folder itself`,
      {
        about: this.#archive,
      },
    );
  }

  #pax(key: string): string | undefined {
    const value = this.#local.get(key) ?? this.#global.get(key);
    return value === '' ? undefined : value;
  }

  #number(key: string, name: string): number | undefined {
    const value = this.#pax(key);
    if (value === undefined) return undefined;
    const read = paxNumber(value);
    const wrong = key === 'size' && !(Number.isSafeInteger(read) && Number(read) >= 0);
    if (read !== undefined && !wrong) return read;
    throw new Fault(
      'archive-damaged',
      `${this.#archive}: the entry ${quoted(name)} has the ${key} ${quoted(value)}`,
      {
        about: this.#archive,
      },
    );
  }

  #name(bytes: Buffer): string {
    const name = text(bytes, 0, bytes.length);
    if (name !== undefined) return name;
    throw new Fault('archive-unsafe', `${this.#archive}: has a long name that is not UTF-8`, {
      about: this.#archive,
    });
  }
}

/** Pax records by keyword; an empty value takes an earlier one back. */
type PaxRecords = ReadonlyMap<string, string>;

/** Reads `length keyword=value\n` records; nothing if the bytes are not such records or not UTF-8. */
export function parsePax(bytes: Buffer): PaxRecords | undefined {
  if (!isUtf8(bytes)) return undefined;
  const records = new Map<string, string>();
  let at = 0;
  while (at < bytes.length) {
    // Some writers fill the block up with zeros.
    if (bytes[at] === 0) break;
    const space = bytes.indexOf(0x20, at);
    const length = space === -1 ? NaN : decimal(bytes.toString('latin1', at, space));
    const end = at + length;
    const equals = bytes.indexOf(0x3d, space);
    if (!(end <= bytes.length) || bytes[end - 1] !== 0x0a || equals === -1 || equals >= end) return undefined;
    records.set(bytes.toString('utf8', space + 1, equals), bytes.toString('utf8', equals + 1, end - 1));
    at = end;
  }
  return records;
}

/** A pax decimal such as a size or a time; nothing if it is not one. */
export function paxNumber(value: string): number | undefined {
  return /^-?\d+(?:\.\d*)?$/.test(value) ? Number(value) : undefined;
}

function decimal(digits: string): number {
  return /^[1-9]\d{0,9}$/.test(digits) ? Number(digits) : NaN;
}
