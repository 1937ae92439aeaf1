import { type ArchiveKind, freeBytes } from '@updraft/base';
import { asFault, Fault } from './fault.ts';
import { Budget, type Expected } from './budget.ts';
import { andThen, type ByteSink, type EntrySink, type MaybePromise } from './entry.ts';
import { FileWriter } from './file-writer.ts';
import { KindGate } from './kind-gate.ts';
import { defaultUnpackLimits, type UnpackLimits } from './limits.ts';
import { NestedSink } from './nested-sink.ts';
import { openReader, type Reader } from './open-reader.ts';
import type { SafePath } from './safe-path.ts';
import { Staging } from './staging.ts';

/** What came out of an archive. */
export interface Unpacked {
  /** Regular files, each hard link counted as one; folders and symbolic links are not counted. */
  files: number;
  /** Bytes in those files. */
  bytes: number;
  /** The actual kind, whatever the name says. */
  kind: ArchiveKind;
  /**
   * Whether the archive's end mark was read. A tar cut exactly between two entries looks like one whose writer omitted
   * the end blocks, and a zeroed tail looks like the end blocks: only a digest or a manifest shows the difference.
   */
  ended: 'end-blocks' | 'no-end-blocks';
}

/**
 * Unpacks an archive while its bytes arrive. The caller may reuse a chunk's buffer as soon as `write` returns (or its
 * promise resolves).
 */
export interface Unpacker {
  write(chunk: Buffer): void | Promise<void>;
  /** All bytes were written: everything appears in the target folder, or a Fault says what is wrong. */
  finish(): Promise<Unpacked>;
  /** Removes everything written so far. Safe to call at any time, even twice. */
  abort(): Promise<void>;
}

export interface UnpackerOptions {
  /** The object's name, for messages. */
  name: string;
  /** A kind must match the bytes; `auto` accepts any archive; `nested` is any archive of archives. */
  mode: 'auto' | 'nested' | ArchiveKind;
  /** The folder in which everything appears when complete. Existing files are kept. */
  into: string;
  /** What must come out: files, and bytes in those files. */
  expect?: Expected;
  /**
   * Files (in nested mode: folders) appear as soon as they are complete, instead of all at the end. Not for zip, whose
   * directory at the end says which entries are links.
   */
  arriving?: { stagedUnder: string; onPart: () => unknown };
  limits?: Partial<UnpackLimits>;
}

export function openUnpacker(options: UnpackerOptions): Unpacker {
  return new ArchiveUnpacker(options);
}

class ArchiveUnpacker implements Unpacker {
  readonly #name: string;
  readonly #staging: Staging;
  readonly #budget: Budget;
  readonly #writer: FileWriter;
  readonly #gate: KindGate;
  readonly #nested: NestedSink | undefined;
  readonly #arriving: UnpackerOptions['arriving'];
  #opened: { kind: ArchiveKind; reader: Reader } | undefined;
  #failure: Fault | undefined;
  #publishing: Promise<void> | undefined;

  constructor({ name, mode, into, expect = {}, limits, arriving }: UnpackerOptions) {
    const bounds = { ...defaultUnpackLimits, ...limits };
    this.#name = name;
    this.#arriving = arriving;
    this.#staging = new Staging(into, arriving?.stagedUnder);
    this.#budget = new Budget(name, expect, bounds, () => freeBytes(this.#staging.folder));
    this.#writer = new FileWriter({
      root: this.#staging.folder,
      archive: name,
      budget: this.#budget,
      limits: bounds,
      into,
      isPublishing: arriving !== undefined,
    });
    if (mode === 'nested') this.#nested = this.#openNested(bounds);
    const sink = this.#nested ?? partSink(this.#writer, (part) => this.#partIsWhole(part));
    const declared = mode === 'auto' || mode === 'nested' ? undefined : mode;
    this.#gate = new KindGate(name, declared, (kind) => this.#openReader(kind, sink, bounds));
  }

  write(chunk: Buffer): MaybePromise {
    if (this.#failure !== undefined) throw this.#failure;
    try {
      const waiting = this.#gate.write(chunk);
      return waiting?.catch((error: unknown) => {
        throw this.#fail(error);
      });
    } catch (error) {
      throw this.#fail(error);
    }
  }

  async finish(): Promise<Unpacked> {
    try {
      if (this.#failure !== undefined) throw this.#failure;
      await this.#gate.end();
      this.#stillWanted();
      await this.#writer.finish();
      this.#stillWanted();
      this.#budget.settle();
      this.#publishing = this.#staging.publish(() => this.#stillWanted());
      await this.#publishing;
      await this.#staging.remove();
    } catch (error) {
      const fault = this.#fail(error);
      await this.abort();
      throw fault;
    }
    const { files, bytes } = this.#budget;
    const { kind, reader } = this.#opened as { kind: ArchiveKind; reader: Reader };
    return { files, bytes, kind, ended: reader.ended() ? 'end-blocks' : 'no-end-blocks' };
  }

  async abort(): Promise<void> {
    this.#fail(new Fault('interrupted', `${this.#name}: unpacking was stopped`, { about: this.#name }));
    this.#gate.destroy();
    this.#nested?.destroy();
    this.#writer.abandon();
    // It notices the failure and undoes its moves, for which it needs the staging folder.
    await this.#publishing?.catch(() => undefined);
    await this.#staging.remove();
  }

  #openNested(limits: UnpackLimits): NestedSink {
    return new NestedSink(
      this.#name,
      this.#writer,
      (kind, name, sink) => {
        if (kind === 'tar.xz' && this.#opened?.kind === kind) throw xzInXz(name);
        return openReader(kind, name, sink, limits).input;
      },
      (part) => this.#partIsWhole(part),
    );
  }

  #partIsWhole(part: SafePath): void {
    if (this.#arriving === undefined || this.#opened?.kind === 'zip') return;
    this.#staging.publishPart(part);
    this.#writer.release(part);
    this.#arriving.onPart();
  }

  #openReader(kind: ArchiveKind, sink: EntrySink, limits: UnpackLimits): ByteSink {
    const reader = openReader(kind, this.#name, sink, limits);
    this.#opened = { kind, reader };
    return reader.input;
  }

  #stillWanted(): void {
    if (this.#failure !== undefined) throw this.#failure;
  }

  /** Keeps the first failure; later calls throw it again. */
  #fail(error: unknown): Fault {
    return (this.#failure ??= asFault(error));
  }
}

/** The decoder reads one archive at a time: the inner one would wait for the outer one forever. */
function xzInXz(name: string): Fault {
  return new Fault('archive-kind', `${name}: is a tar.xz inside a tar.xz, which Updraft does not unpack`, {
    about: name,
    fix: 'pack the outer archive as plain .tar; the inner ones are already compressed',
  });
}

/** Passes everything on, and calls `onPart` for every complete file. */
function partSink(sink: EntrySink, onPart: (part: SafePath) => void): EntrySink {
  let file: SafePath | undefined;
  return {
    begin(entry) {
      sink.begin(entry);
      file = entry.path;
    },
    data: (piece) => sink.data(piece),
    end: () =>
      andThen(sink.end(), () => {
        if (file !== undefined) onPart(file);
      }),
    place(entry) {
      sink.place(entry);
      if (entry.type === 'hardlink') onPart(entry.path);
    },
    amend: (path, mode) => sink.amend(path, mode),
  };
}
