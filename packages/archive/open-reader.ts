import { createGunzip, createZstdDecompress } from 'node:zlib';
import { Fault } from './fault.ts';
import type { ArchiveKind } from '@updraft/base';
import { chunkSize, Decompressor } from './decompressor.ts';
import type { ByteSink, EntrySink } from './entry.ts';
import { type UnpackLimits, defaultUnpackLimits } from './limits.ts';
import { PullStage } from './pull-stage.ts';
import { TarReader } from './tar-reader.ts';
import { Unbzip2Stage } from './unbzip2.ts';
import { UnxzStage } from './unxz.ts';
import { ZipReader } from './zip-reader.ts';
import { ZstdFrames } from './zstd-frames.ts';

export interface Reader {
  /** Where the archive's bytes go. */
  input: ByteSink;
  /** Whether the archive's end mark was read. */
  ended(): boolean;
}

/** Opens a reader for one kind of archive; `archive` names it in messages. */
export function openReader(
  kind: ArchiveKind,
  archive: string,
  sink: EntrySink,
  limits: UnpackLimits,
): Reader {
  if (kind === 'zip') {
    const zip = new ZipReader(archive, sink, limits);
    return { input: new PullStage(archive, (queue) => zip.parse(queue)), ended: () => zip.ended };
  }
  const tar = new TarReader(archive, sink, limits);
  const ended = (): boolean => tar.ended;
  return { input: kind === 'tar' ? tar : decompressors[kind](archive, tar, limits), ended };
}

/** What is inside a compressed archive passes on to `next`. */
export const decompressors = {
  'tar.gz': gunzip,
  'tar.zst': unzstd,
  'tar.xz': (archive: string, next: ByteSink, limits: UnpackLimits): ByteSink =>
    new UnxzStage(archive, next, limits),
  'tar.bz2': (archive: string, next: ByteSink, limits: UnpackLimits): ByteSink =>
    new Unbzip2Stage(archive, next, limits),
};

/** Decompresses gzip of any number of members. Only zeros may follow the last member. */
function gunzip(archive: string, next: ByteSink, limits: UnpackLimits): ByteSink {
  const decompressor = new Decompressor(createGunzip({ chunkSize }), archive, next, limits);
  let isOver = false;
  return stage(decompressor, next, async (piece) => {
    const used = isOver ? 0 : await decompressor.write(piece);
    if (used === piece.length) return;
    isOver = true;
    if (piece.subarray(used).some((byte) => byte !== 0))
      throw damaged(archive, 'has bytes after its end that are not gzip');
  });
}

/** Decompresses zstd of any number of frames. */
function unzstd(archive: string, next: ByteSink, limits: UnpackLimits): ByteSink {
  const decompressor = new Decompressor(createZstdDecompress({ chunkSize }), archive, next, limits);
  const frames = new ZstdFrames();
  const write = async (piece: Buffer): Promise<void> => {
    for (let at = 0; at < piece.length;) {
      const end = frames.frameEnd(piece, at);
      if (end === undefined) throw damaged(archive, 'has bytes that are not zstd');
      const used = await decompressor.write(piece.subarray(at, end));
      if (used !== end - at) throw damaged(archive, 'has a broken zstd frame');
      at = end;
    }
  };
  return stage(decompressor, next, write, () => {
    if (!frames.between) throw damaged(archive, 'ends inside a zstd frame');
  });
}

function stage(
  decompressor: Decompressor,
  next: ByteSink,
  write: (piece: Buffer) => Promise<void>,
  checkEnd: () => void = () => undefined,
): ByteSink {
  return {
    write,
    async end() {
      await decompressor.end();
      checkEnd();
      await next.end();
    },
    destroy() {
      decompressor.destroy();
      next.destroy();
    },
  };
}

const damaged = (archive: string, what: string): Fault =>
  new Fault('archive-damaged', `${archive}: ${what}`, { about: archive });

/**
 * The decompressed bytes of a file that is compressed as an archive of this kind is; `name` names it in messages. Of a
 * damaged file, what is before the damage comes before the fault.
 */
export async function* decompress(
  kind: keyof typeof decompressors,
  name: string,
  pieces: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array, void, void> {
  const done: Buffer[] = [];
  const next: ByteSink = {
    write: (piece) => void done.push(piece),
    end: () => undefined,
    destroy: () => undefined,
  };
  const input = decompressors[kind](name, next, defaultUnpackLimits);
  try {
    for await (const piece of pieces) {
      await input.write(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength));
      yield* done.splice(0);
    }
    await input.end();
    yield* done.splice(0);
  } catch (error) {
    yield* done.splice(0);
    throw error;
  } finally {
    input.destroy();
  }
}
