import type { ArchiveKind } from '../base/archive-kinds.ts';
import { asFault, Fault } from '../fault/fault.ts';
import { Budget, type Expected } from './budget.ts';
import { freeBytes } from './disk-fault.ts';
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
  /** What the archive turned out to be, whatever its name says. */
  kind: ArchiveKind;
  /**
   * Whether the archive said that it was over. A tar cut exactly between two entries looks like one whose
   * writer left the end blocks out, and a zeroed tail looks like the end blocks: only a digest or a manifest
   * can tell.
   */
  ended: 'end-blocks' | 'no-end-blocks';
}

/**
 * Bytes in, files out, while they arrive. A chunk belongs to the caller again as soon as `write` returns (or
 * its promise resolves), so it may be a reused buffer.
 */
export interface Unpacker {
  write(chunk: Buffer): void | Promise<void>;
  /** The archive is complete: everything appears under the target folder, or a Fault says what is wrong. */
  finish(): Promise<Unpacked>;
  /** Removes all that was written so far. Safe to call at any moment, also twice. */
  abort(): Promise<void>;
}

export interface UnpackerOptions {
  /** The object's name, for messages. */
  name: string;
  /** A kind must be what the bytes are; `auto` takes any archive; `nested` is any archive of archives. */
  mode: 'auto' | 'nested' | ArchiveKind;
  /** The folder in which everything appears, only when whole. What it holds already is kept. */
  into: string;
  /** What must come out: files, and bytes in those files. */
  expect?: Expected;
  /**
   * Files, and of an archive of archives whole folders, appear as soon as they are whole, instead of all at the end.
   * Of a zip nothing can: what its files are stands at its end.
   */
  arriving?: { stagedUnder: string; onPart: () => unknown };
  limits?: Partial<UnpackLimits>;
}

/** Opens the way from an archive's bytes to files in a folder. */
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
    const promised = mode === 'auto' || mode === 'nested' ? undefined : mode;
    this.#gate = new KindGate(name, promised, (kind) => this.#openReader(kind, sink, bounds));
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
    // It is taken back by itself, and needs the folder for it.
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

  /** The first failure is the one that is told, whatever is tried afterwards. */
  #fail(error: unknown): Fault {
    return (this.#failure ??= asFault(error));
  }
}

/** The decoder reads one archive at a time: the inner one would wait for the outer one for ever. */
function xzInXz(name: string): Fault {
  return new Fault(
    'archive-kind',
    `${name}: is itself in a tar.xz, and only one of the two can be unpacked`,
    {
      about: name,
      fix: 'Pack the outer archive as plain .tar: the inner ones are compressed already.',
    },
  );
}

/** Hands everything on, and calls `onPart` for every file that is whole. */
function partSink(sink: EntrySink, onPart: (part: SafePath) => void): EntrySink {
  let file: SafePath | undefined;
  return {
    begin(entry) {
      sink.begin(entry);
      file = entry.path;
    },
    data: (piece) => sink.data(piece),
    hole: (bytes) => sink.hole(bytes),
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
