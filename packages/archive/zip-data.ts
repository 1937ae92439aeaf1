import { crc32, createInflateRaw } from 'node:zlib';
import { Fault } from './fault.ts';
import { chunkSize, Decompressor } from './decompressor.ts';
import type { ByteSink, EntrySink, MaybePromise } from './entry.ts';
import type { UnpackLimits } from './limits.ts';
import type { ByteQueue, Pull } from './pull-stage.ts';
import { quoted } from './safe-path.ts';
import { big, signatures, type ZipEntry } from './zip-records.ts';

/** The actual checksum and sizes of an entry's data. */
export interface ZipData {
  crc: number;
  packed: number;
  unpacked: number;
  /** Length of the descriptor that follows, if it is already known. */
  descriptor?: number;
}

const maxChunkBytes = 1 << 20;

/** Passes an entry's data to the sink and checks it against sizes and checksum stated ahead. */
export function* readZipData(
  archive: string,
  entry: ZipEntry,
  sink: EntrySink,
  queue: ByteQueue,
  limits: UnpackLimits,
): Pull<ZipData> {
  const out = new CheckedData(sink);
  let packed: number;
  let descriptor = {};
  if (entry.method === 8) packed = yield* inflated(archive, entry, out, queue, limits);
  else if (entry.method === 0 && !entry.described) packed = yield* stored(entry, out);
  else if (entry.method === 0) {
    descriptor = { descriptor: yield* storedUpToDescriptor(out, queue) };
    packed = out.unpacked;
  } else throw refused(archive, entry);
  const { crc, unpacked } = out;
  if (!entry.described && (crc !== entry.crc || unpacked !== entry.unpacked || packed !== entry.packed))
    throw new Fault(
      'archive-damaged',
      `${archive}: the data of ${quoted(entry.name ?? '?')} does not match its stated size or checksum`,
      { about: archive },
    );
  return { crc, packed, unpacked, ...descriptor };
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

/** What follows an entry: another one, or the directory. */
const nextRecords: readonly number[] = [signatures.local, signatures.central];
/** A descriptor has up to 24 bytes, and 4 identify the record after it. */
const lookahead = 28;

/**
 * Some writers store a file without stating its size ahead. It ends where a next record follows a descriptor with the
 * size and checksum of the data so far; the directory at the end confirms it. Returns the length of the descriptor.
 */
function* storedUpToDescriptor(out: CheckedData, queue: ByteQueue): Pull<number> {
  for (;;) {
    let window: Buffer = yield { bytes: maxChunkBytes, atMost: true };
    if (window.length < lookahead) {
      queue.unread(window.length);
      window = yield { bytes: lookahead };
    }
    const found = findEnd(window, out);
    const taken = found?.end ?? window.length - lookahead + 1;
    queue.unread(window.length - taken);
    const waiting = out.write(window.subarray(0, taken));
    if (waiting !== undefined) yield waiting;
    if (found !== undefined) return found.descriptor;
  }
}

/** Where the data ends in the window, if it does; `out` has the totals before the window. */
function findEnd(
  window: Buffer,
  { crc, unpacked }: CheckedData,
): { end: number; descriptor: number } | undefined {
  // Linear even with many false ends: each byte is summed once, except for the last few before each.
  let [summed, sum] = [0, crc];
  for (
    let at = window.indexOf('PK');
    at !== -1 && at + 4 <= window.length;
    at = window.indexOf('PK', at + 1)
  ) {
    if (!nextRecords.includes(window.readUInt32LE(at))) continue;
    const until = Math.max(summed, at - 24);
    [summed, sum] = [until, crc32(window.subarray(summed, until), sum)];
    for (const descriptor of [16, 24, 12, 20]) {
      const end = at - descriptor;
      if (end < summed) continue;
      const total = crc32(window.subarray(summed, end), sum);
      if (isDescriptor(window.subarray(end, at), unpacked + end, total)) return { end, descriptor };
    }
  }
  return undefined;
}

/** Descriptors come with or without a signature, and with sizes of 32 or 64 bits. */
function isDescriptor(bytes: Buffer, size: number, crc: number): boolean {
  const signed = bytes.length % 8 === 0;
  if (signed && bytes.readUInt32LE() !== signatures.descriptor) return false;
  const [crcAt, wide] = [signed ? 4 : 0, bytes.length > 16];
  const sizes = wide
    ? [big(bytes, crcAt + 4), big(bytes, crcAt + 12)]
    : [bytes.readUInt32LE(crcAt + 4), bytes.readUInt32LE(crcAt + 8)];
  return sizes.every((one) => one === size) && bytes.readUInt32LE(crcAt) === crc;
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
  return new Fault(
    'archive-kind',
    `${archive}: the entry ${quoted(name ?? '?')} is compressed by ${methods[method] ?? `method ${method}`}, which Updraft does not unpack`,
    { about: archive, fix: 'repack with plain zip, or as tar' },
  );
}
