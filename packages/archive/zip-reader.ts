import { crc32 } from 'node:zlib';
import { Fault } from './fault.ts';
import type { EntrySink } from './entry.ts';
import type { UnpackLimits } from './limits.ts';
import type { ByteQueue, Pull } from './pull-stage.ts';
import { quoted, safePath, type SafePath } from './safe-path.ts';
import { readZipData, type ZipData } from './zip-data.ts';
import {
  big,
  centralRest,
  fixedSizes,
  localRest,
  parseCentral,
  parseLocal,
  signatures,
  type CentralEntry,
  type ZipEntry,
} from './zip-records.ts';

/**
 * Reads a zip front to back by its local headers, and compares the central directory at its end with what was read: an
 * entry that is in only one of them means damage.
 */
export class ZipReader {
  readonly #archive: string;
  readonly #sink: EntrySink;
  readonly #limits: UnpackLimits;
  /** A fingerprint of each entry not yet listed, by its offset: small, since there may be millions. */
  readonly #unlisted = new Map<number, number>();
  #listed = 0;
  /** Where the directory begins. */
  #directoryAt = 0;
  /** Whether the directory's position was stated in 64 bits. */
  #wide = false;
  #bytes = 0;
  ended = false;

  constructor(archive: string, sink: EntrySink, limits: UnpackLimits) {
    this.#archive = archive;
    this.#sink = sink;
    this.#limits = limits;
  }

  *parse(queue: ByteQueue): Pull {
    while (!this.ended) {
      const offset = this.#bytes;
      const signature = (yield* this.#take(4)).readUInt32LE();
      if (signature === signatures.local && this.#listed === 0) yield* this.#entry(offset, queue);
      else if (signature === signatures.central) yield* this.#central(offset);
      else if (signature === signatures.end64) yield* this.#end64(offset);
      else if (signature === signatures.locator64) yield* this.#take(fixedSizes.locator64);
      else if (signature === signatures.end) yield* this.#end(offset);
      else throw this.#damaged(`has an unknown record at byte ${offset.toLocaleString('en-US')}`);
    }
    for (;;) {
      const rest: Buffer = yield { bytes: 1 << 16, atMost: true, mayEnd: true };
      if (rest.some((byte) => byte !== 0)) throw this.#damaged('continues after its end');
    }
  }

  *#entry(offset: number, queue: ByteQueue): Pull {
    const fixed = Buffer.from(yield* this.#take(fixedSizes.local));
    const entry = parseLocal(fixed, yield* this.#take(localRest(fixed)));
    const path = this.#path(entry);
    const data: ZipData = { crc: entry.crc, packed: entry.packed, unpacked: entry.unpacked };
    if (entry.name?.endsWith('/')) {
      if (entry.unpacked > 0 || entry.described)
        throw this.#damaged(`has a folder ${quoted(entry.name)} with data`);
      this.#sink.place({ type: 'folder', path, mode: 0o777, mtime: entry.mtime });
      yield* this.#skip(entry.packed);
    } else {
      const size = entry.described ? {} : { size: entry.unpacked };
      this.#sink.begin({ type: 'file', path, mode: 0o666, mtime: entry.mtime, ...size });
      Object.assign(data, yield* readZipData(this.#archive, entry, this.#sink, queue, this.#limits));
      this.#bytes += data.packed;
      if (data.descriptor !== undefined) yield* this.#take(data.descriptor);
      else if (entry.described) yield* this.#descriptor(entry, data);
      const waiting = this.#sink.end();
      if (waiting !== undefined) yield waiting;
    }
    this.#unlisted.set(offset, fingerprint(entry, data));
  }

  #path(entry: ZipEntry): SafePath {
    if (entry.name === undefined)
      throw new Fault('archive-unsafe', `${this.#archive}: an entry's name is marked as UTF-8 but is not`, {
        about: this.#archive,
        fix: 'repack with UTF-8 names',
      });
    if (entry.encrypted)
      throw new Fault('archive-kind', `${this.#archive}: the entry ${quoted(entry.name)} is encrypted`, {
        about: this.#archive,
        fix: 'repack without a password',
      });
    // Some Windows programs write backslashes only.
    const name = entry.name.includes('/') ? entry.name : entry.name.replaceAll('\\', '/');
    const path = safePath(name, this.#archive, this.#limits.depth);
    if (path === '') throw new Fault('archive-unsafe', `${this.#archive}: has an entry without a name`);
    return path;
  }

  /** Its signature is optional, and its sizes have 32 or 64 bits without stating which. */
  *#descriptor(entry: ZipEntry, data: ZipData): Pull {
    let crc = (yield* this.#take(4)).readUInt32LE();
    if (crc === signatures.descriptor) crc = (yield* this.#take(4)).readUInt32LE();
    const first = Buffer.from(yield* this.#take(8));
    const narrow = first.readUInt32LE(0) === data.packed && first.readUInt32LE(4) === data.unpacked;
    if (entry.wide || !narrow) {
      const second = yield* this.#take(8);
      if (big(first, 0) !== data.packed || big(second, 0) !== data.unpacked) throw this.#wrongData(entry);
    }
    if (crc !== data.crc) throw this.#wrongData(entry);
  }

  *#central(at: number): Pull {
    if (this.#listed === 0) this.#directoryAt = at;
    const fixed = Buffer.from(yield* this.#take(fixedSizes.central));
    const entry = parseCentral(fixed, yield* this.#take(centralRest(fixed)));
    if (this.#unlisted.get(entry.offset) !== fingerprint(entry, entry))
      throw this.#damaged(`has a directory that does not match the entry ${quoted(entry.name ?? '?')}`);
    // Otherwise an entry listed twice would hide one that is not listed.
    this.#unlisted.delete(entry.offset);
    this.#listed++;
    this.#amend(entry);
  }

  #amend(entry: CentralEntry): void {
    if (entry.mode !== undefined && !entry.name?.endsWith('/'))
      this.#sink.amend(this.#path(entry), entry.mode);
  }

  /** The end record for sizes beyond 32 bits: it ends with the directory's size and position. */
  *#end64(at: number): Pull {
    const size = big(yield* this.#take(fixedSizes.end64), 0);
    if (size < 44 || size > 1 << 24) throw this.#damaged('has a record of an impossible size');
    const record = yield* this.#take(size);
    this.#wide = true;
    this.#checkDirectory(at, big(record, 28), big(record, 36));
  }

  *#end(at: number): Pull {
    const end = Buffer.from(yield* this.#take(fixedSizes.end));
    const stated = end.readUInt16LE(6);
    const comment = end.readUInt16LE(16);
    const held = this.#listed + this.#unlisted.size;
    if (held !== this.#listed || (stated !== 0xffff && stated !== held))
      throw this.#damaged(
        `lists ${this.#listed.toLocaleString('en-US')} entries, states ${stated.toLocaleString('en-US')} and holds ${held.toLocaleString('en-US')}`,
      );
    if (this.#listed === 0) throw this.#damaged('holds no entries');
    const [size, offset] = [end.readUInt32LE(8), end.readUInt32LE(12)];
    if (!this.#wide) this.#checkDirectory(at, size, offset);
    yield* this.#take(comment);
    this.ended = true;
  }

  /** If this is wrong, programs that read from the end see a different directory. */
  #checkDirectory(end: number, size: number, offset: number): void {
    if (offset !== this.#directoryAt || offset + size !== end)
      throw this.#damaged('states a wrong position for its directory');
  }

  *#skip(count: number): Pull {
    if (count > 1 << 24) throw this.#damaged('has a record of an impossible size');
    yield* this.#take(count);
  }

  *#take(count: number): Pull<Buffer> {
    this.#bytes += count;
    return yield { bytes: count };
  }

  #wrongData(entry: ZipEntry): Fault {
    return this.#damaged(
      `the data of ${quoted(entry.name ?? '?')} does not match its stated size or checksum`,
    );
  }

  #damaged(what: string): Fault {
    return new Fault('archive-damaged', `${this.#archive}: ${what}`, { about: this.#archive });
  }
}

const fingerprint = ({ name, method }: ZipEntry, { crc, packed, unpacked }: ZipData): number =>
  crc32(`${method}:${crc}:${packed}:${unpacked}:${name ?? ''}`);
