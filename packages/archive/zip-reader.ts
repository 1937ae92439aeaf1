import { crc32, createInflateRaw } from 'node:zlib';
import { isUtf8 } from 'node:buffer';
import { Fault } from './fault.ts';
import {
  type EntrySink,
  type ByteSink,
  type MaybePromise,
  quoted,
  safePath,
  type SafePath,
} from './entry.ts';
import type { UnpackLimits } from './budget.ts';
import { type ByteQueue, type Pull, chunkSize, Decompressor } from './pull-stage.ts';

/** A zip's records by their first four bytes. */
const signatures = {
  local: 0x04034b50,
  central: 0x02014b50,
  end: 0x06054b50,
  end64: 0x06064b50,
  locator64: 0x07064b50,
  descriptor: 0x08074b50,
} as const;

/** Bytes of each record after its signature, before its variable part. */
const fixedSizes = { local: 26, central: 42, end: 18, end64: 8, locator64: 16 } as const;

/** What local and central headers have in common. */
interface ZipEntry {
  /** Undefined if it is not UTF-8. */
  name: string | undefined;
  encrypted: boolean;
  /** Sizes and checksum follow the data in a descriptor. */
  described: boolean;
  method: number;
  crc: number;
  packed: number;
  unpacked: number;
  /** Sizes have 64 bits. */
  wide: boolean;
  mtime: number;
}

interface CentralEntry extends ZipEntry {
  /** Where the local header is. */
  offset: number;
  /** The Unix mode, if stated. */
  mode: number | undefined;
}

/** How many bytes follow the fixed part. */
const localRest = (fixed: Buffer): number => fixed.readUInt16LE(22) + fixed.readUInt16LE(24);

const centralRest = (fixed: Buffer): number =>
  fixed.readUInt16LE(24) + fixed.readUInt16LE(26) + fixed.readUInt16LE(28);

const parseLocal = (fixed: Buffer, rest: Buffer): ZipEntry =>
  parseCommon(fixed, 2, rest, fixed.readUInt16LE(22), fixed.readUInt16LE(24));

function parseCentral(fixed: Buffer, rest: Buffer): CentralEntry {
  const [nameSize, extraSize] = [fixed.readUInt16LE(24), fixed.readUInt16LE(26)];
  const entry = parseCommon(fixed, 4, rest, nameSize, extraSize);
  const unix = fixed.readUInt16LE(0) >> 8 === 3;
  const offset = fixed.readUInt32LE(38);
  const wide = extraField(rest.subarray(nameSize, nameSize + extraSize), 1);
  const before = [20, 16].filter((at) => fixed.readUInt32LE(at) === 0xffffffff).length * 8;
  return {
    ...entry,
    offset:
      offset === 0xffffffff && wide !== undefined && wide.length >= before + 8 ? big(wide, before) : offset,
    mode: unix ? fixed.readUInt16LE(36) : undefined,
  };
}

/** A 64-bit number; inexact beyond 2^53, where it only needs to be huge. */
const big = (bytes: Buffer, at: number): number =>
  bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;

/** `at` is the offset of the flags; what follows them is the same in both kinds of header. */
function parseCommon(fixed: Buffer, at: number, rest: Buffer, nameSize: number, extraSize: number): ZipEntry {
  const flags = fixed.readUInt16LE(at);
  const name = rest.subarray(0, nameSize);
  const extra = rest.subarray(nameSize, nameSize + extraSize);
  const wide = extraField(extra, 1);
  let [packed, unpacked] = [fixed.readUInt32LE(at + 12), fixed.readUInt32LE(at + 16)];
  let used = 0;
  if (unpacked === 0xffffffff && wide !== undefined && wide.length >= 8)
    unpacked = big(wide, (used += 8) - 8);
  if (packed === 0xffffffff && wide !== undefined && wide.length >= used + 8) packed = big(wide, used);
  return {
    name: isUtf8(name) ? name.toString('utf8') : undefined,
    encrypted: (flags & 0x41) !== 0,
    described: (flags & 8) !== 0,
    method: fixed.readUInt16LE(at + 2),
    crc: fixed.readUInt32LE(at + 8),
    packed,
    unpacked,
    wide: wide !== undefined,
    mtime: modified(fixed, at + 4, extra),
  };
}

function extraField(extra: Buffer, id: number): Buffer | undefined {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2))
    if (extra.readUInt16LE(at) === id) return extra.subarray(at + 4, at + 4 + extra.readUInt16LE(at + 2));
  return undefined;
}

/** Unix seconds from the extra field, else DOS time, which has no time zone: ours is assumed. */
function modified(fixed: Buffer, at: number, extra: Buffer): number {
  const unix = extraField(extra, 0x5455);
  if (unix !== undefined && unix.length >= 5 && (unix.readUInt8(0) & 1) === 1) return unix.readInt32LE(1);
  const [time, date] = [fixed.readUInt16LE(at), fixed.readUInt16LE(at + 2)];
  const day = [1980 + (date >> 9), ((date >> 5) & 15) - 1, date & 31] as const;
  return new Date(...day, time >> 11, (time >> 5) & 63, (time & 31) * 2).getTime() / 1000;
}

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
      if (entry.described) yield* this.#descriptor(entry, data);
      const waiting = this.#sink.end();
      if (waiting !== undefined) yield waiting;
    }
    this.#unlisted.set(offset, fingerprint(entry, data));
  }

  #path(entry: ZipEntry): SafePath {
    if (entry.name === undefined)
      throw new Fault('archive-unsafe', `${this.#archive}: an entry's name is not UTF-8`, {
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
        `lists ${this.#listed.toLocaleString('en-US')} entries, ` +
          `states ${stated.toLocaleString('en-US')} and holds ${held.toLocaleString('en-US')}`,
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

/** The actual checksum and sizes of an entry's data. */
interface ZipData {
  crc: number;
  packed: number;
  unpacked: number;
}

const maxChunkBytes = 1 << 20;

/** Passes an entry's data to the sink and checks it against sizes and checksum stated ahead. */
function* readZipData(
  archive: string,
  entry: ZipEntry,
  sink: EntrySink,
  queue: ByteQueue,
  limits: UnpackLimits,
): Pull<ZipData> {
  const out = new CheckedData(sink);
  let packed: number;
  if (entry.method === 8) packed = yield* inflated(archive, entry, out, queue, limits);
  else if (entry.method === 0 && (!entry.described || (yield* isEmpty(queue))))
    packed = yield* stored(entry, out);
  else throw refused(archive, entry);
  const { crc, unpacked } = out;
  if (!entry.described && (crc !== entry.crc || unpacked !== entry.unpacked || packed !== entry.packed))
    throw new Fault(
      'archive-damaged',
      `${archive}: the data of ${quoted(entry.name ?? '?')} does not match its stated size or checksum`,
      { about: archive },
    );
  return { crc, packed, unpacked };
}

/** Without a size ahead, what is stored may end anywhere: only an empty file, as `zip -` writes it, is read. */
function* isEmpty(queue: ByteQueue): Pull<boolean> {
  const next = (yield { bytes: 4 }).readUInt32LE();
  queue.unread(4);
  return next === signatures.descriptor;
}

function* stored(entry: ZipEntry, out: CheckedData): Pull<number> {
  for (let left = entry.packed; left > 0;) {
    const piece: Buffer = yield { bytes: Math.min(left, maxChunkBytes), atMost: true };
    left -= piece.length;
    const waiting = out.write(piece);
    if (waiting !== undefined) yield waiting;
  }
  return entry.packed;
}

/** Deflate marks its own end; if the size is known too, it gets no byte beyond that. */
function* inflated(
  archive: string,
  entry: ZipEntry,
  out: CheckedData,
  queue: ByteQueue,
  limits: UnpackLimits,
): Pull<number> {
  const decompressor = new Decompressor(createInflateRaw({ chunkSize }), archive, out, limits);
  let packed = 0;
  try {
    for (let over = false; !over && (entry.described || packed < entry.packed);) {
      const maxBytes = entry.described ? maxChunkBytes : Math.min(entry.packed - packed, maxChunkBytes);
      const piece: Buffer = yield { bytes: maxBytes, atMost: true };
      let used = 0;
      yield decompressor.write(piece).then((count) => void (used = count));
      queue.unread(piece.length - used);
      packed += used;
      over = used < piece.length;
    }
    yield decompressor.end();
  } finally {
    decompressor.destroy();
  }
  return packed;
}

/** Counts and checksums what it passes to the sink. */
class CheckedData implements ByteSink {
  readonly #sink: EntrySink;
  crc = 0;
  unpacked = 0;

  constructor(sink: EntrySink) {
    this.#sink = sink;
  }

  write(piece: Buffer): MaybePromise {
    this.crc = crc32(piece, this.crc);
    this.unpacked += piece.length;
    return this.#sink.data(piece);
  }

  end(): void {
    return;
  }

  destroy(): void {
    return;
  }
}

/** Unsupported compression methods by number. */
const methods: Readonly<Record<number, string>> = {
  1: 'shrink',
  6: 'implode',
  9: 'deflate64',
  12: 'bzip2',
  14: 'lzma',
  93: 'zstd',
  95: 'xz',
  98: 'PPMd',
  99: 'AES encryption',
};

function refused(archive: string, { name, method }: ZipEntry): Fault {
  const how =
    method === 0 ? 'stored without its size' : `compressed by ${methods[method] ?? `method ${method}`}`;
  return new Fault(
    'archive-kind',
    `${archive}: the entry ${quoted(name ?? '?')} is ${how}, which Updraft does not unpack`,
    { about: archive, fix: 'repack with plain zip, or as tar' },
  );
}
