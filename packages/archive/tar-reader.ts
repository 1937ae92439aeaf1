import { Fault } from './fault.ts';
import { andThen, type ByteSink, type EntrySink, type MaybePromise } from './entry.ts';
import type { UnpackLimits } from './limits.ts';
import { quoted } from './safe-path.ts';
import { TarEntries, type MetaType } from './tar-entries.ts';
import { blockSize, parseTarHeader, type TarHeader } from './tar-header.ts';

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
        `has a header of ${size.toLocaleString('en-US')} bytes for ${isPax ? 'the attributes of one file' : 'a single name'}`,
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
