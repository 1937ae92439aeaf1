import xz from 'xz-decompress/dist/package/xz-decompress.min.js';
import { asFault, Fault } from './fault.ts';
import type { ByteSink } from './entry.ts';
import { checkRatio, type UnpackLimits } from './budget.ts';

/** By the decoder's number of the error. */
const unsupported = {
  4: 'a dictionary of more than 64 MiB',
  6: 'a filter or a checksum, such as SHA-256, that plain `xz` does not use',
};
const repack = 'repack: xz -dc OLD.tar.xz | zstd > NEW.tar.zst';

/**
 * Decompresses xz of any number of streams; checksums and the index are verified. The library decodes one archive at a
 * time in a process: a second one waits until the first is finished or destroyed.
 */
export class UnxzStage implements ByteSink {
  readonly #archive: string;
  readonly #next: ByteSink;
  readonly #limits: UnpackLimits;
  readonly #unpacked: ReadableStreamDefaultReader<Uint8Array>;
  readonly #pumped: Promise<void>;
  /** Resolved while the decoder waits for bytes. */
  #hungry = Promise.withResolvers<undefined>();
  readonly #started = this.#hungry.promise;
  #source!: ReadableStreamDefaultController<Uint8Array>;
  #bytesIn = 0;
  #failure: Fault | undefined;

  constructor(archive: string, next: ByteSink, limits: UnpackLimits) {
    this.#archive = archive;
    this.#next = next;
    this.#limits = limits;
    const packed = new ReadableStream<Uint8Array>(
      { start: (source) => void (this.#source = source), pull: () => this.#hungry.resolve(undefined) },
      { highWaterMark: 0 },
    );
    this.#unpacked = new xz.XzReadableStream(packed).getReader();
    this.#pumped = this.#pump();
  }

  async write(piece: Buffer): Promise<void> {
    if (piece.length === 0) return;
    this.#bytesIn += piece.length;
    await this.#untilHungry();
    this.#hungry = Promise.withResolvers();
    this.#source.enqueue(piece);
    // The caller may reuse the piece once the decoder asks for more.
    await this.#untilHungry();
  }

  async end(): Promise<void> {
    await this.#untilHungry();
    this.#source.close();
    await this.#pumped;
    if (this.#failure !== undefined) throw this.#failure;
    await this.#next.end();
  }

  destroy(): void {
    // If cancelled before it has started, the decoder would block all later ones.
    void this.#started.then(() => this.#unpacked.cancel()).catch(() => undefined);
    this.#next.destroy();
  }

  async #untilHungry(): Promise<void> {
    await this.#hungry.promise;
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Never rejects: a failure is thrown by the next write or by end. */
  async #pump(): Promise<void> {
    try {
      let bytesOut = 0;
      for (;;) {
        const { done, value } = await this.#read();
        if (done) break;
        bytesOut += value.length;
        checkRatio(this.#archive, this.#bytesIn, bytesOut, this.#limits);
        await this.#next.write(Buffer.from(value.buffer, value.byteOffset, value.length));
      }
    } catch (error) {
      this.#failure = asFault(error);
      await this.#unpacked.cancel().catch(() => undefined);
    }
    this.#hungry.resolve(undefined);
  }

  async #read(): ReturnType<ReadableStreamDefaultReader<Uint8Array>['read']> {
    try {
      return await this.#unpacked.read();
    } catch (error) {
      throw this.#describe(error);
    }
  }

  /** The decoder's errors have only a number. */
  #describe(cause: unknown): Fault {
    const about = this.#archive;
    const number = /error code (\d)/.exec(String(cause))?.[1];
    const before = `before byte ${this.#bytesIn.toLocaleString('en-US')}`;
    if (number === '6' || number === '4')
      return new Fault(
        'archive-kind',
        `${about}: uses ${unsupported[number]}, which Updraft does not unpack`,
        {
          about,
          cause,
          fix: repack,
        },
      );
    const what =
      number === '8'
        ? `ends at byte ${this.#bytesIn.toLocaleString('en-US')}, before it is complete`
        : number === '5'
          ? `has bytes that are not xz ${before}`
          : number === '7'
            ? `has a wrong checksum or bytes that cannot be decompressed ${before}`
            : `cannot be decompressed ${before}: ${String(cause)}`;
    return new Fault('archive-damaged', `${about}: ${what}`, { about, cause });
  }
}
