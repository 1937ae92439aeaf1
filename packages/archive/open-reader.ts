import { createGunzip, createZstdDecompress } from 'node:zlib';
import type { ArchiveKind } from '@updraft/base';
import { Fault } from './fault.ts';
import { chunkSize, Decompressor, PullStage } from './pull-stage.ts';
import type { ByteSink, EntrySink } from './entry.ts';
import { type UnpackLimits, defaultUnpackLimits } from './budget.ts';
import { TarReader } from './tar-reader.ts';
import { ZipReader } from './zip-reader.ts';

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
/** The next step through a frame: read some bytes, skip some, or the end of the frame. */
type Step = { peek: number } | { pass: number } | 'frame-over';

const frameMagic = 0xfd2fb528;
const skippableMagic = 0x184d2a50;

/**
 * Finds the ends of zstd frames without decompressing. Needed because Node's decompressor drops what follows a frame in
 * the same piece, and Bun's accepts a cut frame.
 */
export class ZstdFrames {
  readonly #walk = walkFrames();
  #step: Step = { peek: 4 };
  #peeked = Buffer.alloc(0);
  #passed = 0;
  /** Whether the bytes so far end exactly with a frame. */
  between = true;

  constructor() {
    this.#walk.next(Buffer.alloc(0));
  }

  /** Where the current frame ends in the piece, or the piece's end; undefined if this is not zstd. */
  frameEnd(piece: Buffer, from: number): number | undefined {
    let at = from;
    while (at < piece.length) {
      this.between = false;
      at += this.#take(piece, at);
      const step = this.#current();
      if (step === undefined) return undefined;
      if (step === 'frame-over') {
        this.#advance(Buffer.alloc(0));
        this.between = true;
        return at;
      }
    }
    return at;
  }

  /** Uses bytes for the current step. */
  #take(piece: Buffer, at: number): number {
    const step = this.#step;
    if (step === 'frame-over') return 0;
    if ('pass' in step) {
      const taken = Math.min(step.pass - this.#passed, piece.length - at);
      this.#passed += taken;
      return taken;
    }
    const taken = Math.min(step.peek - this.#peeked.length, piece.length - at);
    this.#peeked = Buffer.concat([this.#peeked, piece.subarray(at, at + taken)]);
    return taken;
  }

  /** Completes all steps that need no more bytes. */
  #current(): Step | undefined {
    for (;;) {
      const step = this.#step;
      if (step === 'frame-over') return step;
      if ('pass' in step ? this.#passed < step.pass : this.#peeked.length < step.peek) return step;
      if (!this.#advance(this.#peeked)) return undefined;
    }
  }

  #advance(peeked: Buffer): boolean {
    this.#peeked = Buffer.alloc(0);
    this.#passed = 0;
    const next = this.#walk.next(peeked);
    if (next.done) return false;
    this.#step = next.value;
    return true;
  }
}

/** Returns only when the bytes are not zstd. */
function* walkFrames(): Generator<Step, void, Buffer> {
  for (;;) {
    const magic = (yield { peek: 4 }).readUInt32LE();
    if ((magic & 0xfffffff0) >>> 0 === skippableMagic) yield { pass: (yield { peek: 4 }).readUInt32LE() };
    else if (magic !== frameMagic) return;
    else {
      const descriptor = (yield { peek: 1 }).readUInt8();
      yield { pass: headerRest(descriptor) };
      for (let last = false; !last;) {
        const block = (yield { peek: 3 }).readUIntLE(0, 3);
        const type = (block >> 1) & 3;
        if (type === 3) return;
        last = (block & 1) === 1;
        // An RLE block stores its byte once.
        yield { pass: type === 1 ? 1 : block >> 3 };
      }
      yield { pass: (descriptor & 4) === 0 ? 0 : 4 };
    }
    yield 'frame-over';
  }
}

/** Bytes of the frame header after its descriptor: window, dictionary and content size. */
function headerRest(descriptor: number): number {
  const single = (descriptor >> 5) & 1;
  const dictionary = [0, 1, 2, 4][descriptor & 3] ?? 0;
  const content = [single, 2, 4, 8][descriptor >> 6] ?? 0;
  return 1 - single + dictionary + content;
}
