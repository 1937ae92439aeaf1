import { crc32, createInflateRaw } from 'node:zlib';
import { Fault } from '../fault/fault.ts';
import { chunkSize, Decompressor } from './decompressor.ts';
import type { ByteSink, EntrySink, Waiting } from './entry.ts';
import type { Limits } from './limits.ts';
import type { ByteQueue, Pull } from './pull-stage.ts';
import { quoted } from './safe-path.ts';
import { signatures, type ZipEntry } from './zip-records.ts';

/** What an entry's data turned out to be. */
export interface ZipData {
  crc: number;
  packed: number;
  unpacked: number;
}

const maxAtOnce = 1 << 20;

/** Hands an entry's data to the sink; sizes and checksum stated ahead are held against it. */
export function* readZipData(
  archive: string,
  entry: ZipEntry,
  sink: EntrySink,
  queue: ByteQueue,
  limits: Limits,
): Pull<ZipData> {
  const out = new CheckedData(sink);
  let packed: number;
  if (entry.method === 8) packed = yield* inflated(archive, entry, out, queue, limits);
  else if (entry.method === 0 && !entry.described) packed = yield* stored(entry, out);
  else if (entry.method === 0 && (yield* isEmpty(entry, queue))) packed = 0;
  else throw refused(archive, entry);
  const { crc, unpacked } = out;
  if (!entry.described && (crc !== entry.crc || unpacked !== entry.unpacked || packed !== entry.packed))
    throw new Fault(
      'archive-damaged',
      `${archive}: the data of ${quoted(entry.name ?? '?')} does not have the size or checksum stated`,
      { about: archive },
    );
  return { crc, packed, unpacked };
}

function* stored(entry: ZipEntry, out: CheckedData): Pull<number> {
  for (let left = entry.packed; left > 0;) {
    const piece: Buffer = yield { bytes: Math.min(left, maxAtOnce), atMost: true };
    left -= piece.length;
    const waiting = out.write(piece);
    if (waiting !== undefined) yield waiting;
  }
  return entry.packed;
}

/** Streaming writers store an empty file without saying so ahead; its descriptor follows at once. */
function* isEmpty(entry: ZipEntry, queue: ByteQueue): Pull<boolean> {
  const descriptor = Buffer.alloc(entry.wide ? 24 : 16);
  descriptor.writeUInt32LE(signatures.descriptor);
  const next: Buffer = yield { bytes: descriptor.length };
  queue.unread(next.length);
  return next.equals(descriptor);
}

/** Deflate knows its own end; where the size is known too, it gets no byte beyond. */
function* inflated(
  archive: string,
  entry: ZipEntry,
  out: CheckedData,
  queue: ByteQueue,
  limits: Limits,
): Pull<number> {
  const decompressor = new Decompressor(createInflateRaw({ chunkSize }), archive, out, limits);
  let packed = 0;
  try {
    for (let over = false; !over && (entry.described || packed < entry.packed);) {
      const most = entry.described ? maxAtOnce : Math.min(entry.packed - packed, maxAtOnce);
      const piece: Buffer = yield { bytes: most, atMost: true };
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

/** Counts and sums what goes through to the sink. */
class CheckedData implements ByteSink {
  readonly #sink: EntrySink;
  crc = 0;
  unpacked = 0;

  constructor(sink: EntrySink) {
    this.#sink = sink;
  }

  write(piece: Buffer): Waiting {
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

function refused(archive: string, entry: ZipEntry): Fault {
  const why =
    entry.method === 0
      ? 'is stored without its size ahead, so that its end cannot be found while it arrives'
      : `is compressed by method ${entry.method}, which Updraft does not unpack`;
  return new Fault('archive-kind', `${archive}: the entry ${quoted(entry.name ?? '?')} ${why}`, {
    about: archive,
    fix: 'Pack it again with plain zip, or as tar.',
  });
}
