import path from 'node:path';
import { type ArchiveKind, freeBytes, repacking, splitArchiveName } from '@updraft/base';
import {
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { identifySelf, livenessOf, type ProcessIdentity } from '@updraft/base/processes';
import { removeTree } from '@updraft/base/disk';
import { asFault, Fault } from './fault.ts';
import {
  Budget,
  type Expected,
  defaultUnpackLimits,
  type UnpackLimits,
  diskFault,
  lstatIfExists,
} from './budget.ts';
import {
  andThen,
  type ByteSink,
  type EntrySink,
  type MaybePromise,
  type FileEntry,
  type FolderEntry,
  type HardlinkEntry,
  type SymlinkEntry,
  type SafePath,
  joinSafe,
  safePath,
} from './entry.ts';
import { FileWriter, isLinkMode } from './file-writer.ts';
import { KindGate, mustRepack, detectText, pageText } from './kind-gate.ts';
import { openReader, type Reader } from './open-reader.ts';

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
      (kind, name, sink) => openReader(kind, name, sink, limits).input,
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

/**
 * The hidden folder in which an archive is unpacked. It is in the nearest existing folder on the way to the target:
 * publishing is a rename on one file system, and undoing it leaves no trace. Leftovers of killed processes in the same
 * place are removed, too.
 */
export class Staging {
  /** Where the archive is unpacked: an ordinary folder in a private one. */
  readonly folder: string;
  readonly #hidden: string;
  readonly #into: string;

  /** `under` overrides the place of the hidden folder; it must be on the target's file system. */
  constructor(into: string, under?: string) {
    try {
      this.#into = path.resolve(into);
      let nearest = under ?? this.#into;
      while (!existsSync(nearest)) nearest = path.dirname(nearest);
      if (nearest === this.#into) this.#into = nearest = realpathSync(nearest);
      this.#hidden = mkdtempSync(path.join(nearest, stagingPrefix));
      markOwner(this.#hidden);
      removeLeftovers(nearest, this.#hidden);
      this.folder = path.join(this.#hidden, 'tree');
      mkdirSync(this.folder);
    } catch (error) {
      throw diskFault(error, into, 0);
    }
  }

  /**
   * Moves everything to the target folder; existing files are kept and never overwritten. Yields to the event loop
   * between batches; if `check` throws there, all moves are undone.
   */
  async publish(check: () => void): Promise<void> {
    const moves = this.#move(this.folder, this.#into);
    for (let step = 1; !moves.next().done; step++)
      if (step % batchSize === 0) {
        await nextTurn();
        try {
          check();
        } catch (error) {
          moves.throw(error);
        }
      }
  }

  /** Moves one file or folder to the target folder ahead of the rest. */
  publishPart(part: string): void {
    this.#checkWay(path.dirname(part));
    const moves = this.#move(path.join(this.folder, part), path.join(this.#into, part));
    while (!moves.next().done);
  }

  /** An existing parent may be a link, and a part must not be moved through it. */
  #checkWay(folder: string): void {
    if (folder === '.') return;
    this.#checkWay(path.dirname(folder));
    const full = path.join(this.#into, folder);
    if (lstatIfExists(full)?.isDirectory() === false) throw alreadyExists(full);
  }

  /** One name per step. Nothing is moved before every name is known to be free. */
  *#move(tree: string, target: string): Generator<string> {
    const moved: string[] = [];
    try {
      mkdirSync(path.dirname(target), { recursive: true });
      yield* free(tree, target, '');
      for (const name of free(tree, target, '')) {
        renameSync(path.join(tree, name), path.join(target, name));
        moved.push(name);
        yield name;
      }
    } catch (error) {
      for (const name of moved.reverse()) renameSync(path.join(target, name), path.join(tree, name));
      throw diskFault(error, this.#into, 0);
    }
  }

  async remove(): Promise<void> {
    await removeTree(this.#hidden);
  }
}

/** Steps before yielding to the event loop. */
const batchSize = 500;

/** The names that can be moved as a whole; folders that exist on both sides are merged. */
function* free(tree: string, target: string, name: string): Generator<string> {
  const [from, to] = [path.join(tree, name), path.join(target, name)];
  const there = lstatIfExists(to);
  if (there === undefined) {
    yield name;
    return;
  }
  if (!there.isDirectory() || !lstatSync(from).isDirectory()) throw alreadyExists(to);
  for (const inner of readdirSync(from)) yield* free(tree, target, path.join(name, inner));
}

function alreadyExists(file: string): Fault {
  return new Fault('scratch-unusable', `${file} already exists and would be overwritten`, {
    about: file,
    fix: 'remove it, or unpack into another folder',
  });
}

const stagingPrefix = '.updraft-unpack-';
const ownerFile = 'owner.json';

/** Records which process unpacks in the hidden folder. */
function markOwner(hidden: string): void {
  writeFileSync(path.join(hidden, ownerFile), JSON.stringify(identifySelf() ?? {}));
}

/** Removes the hidden folders that processes of the same user left in `folder` when they were killed. */
function removeLeftovers(folder: string, mine: string): void {
  const { uid } = lstatSync(mine);
  const others = readdirSync(folder).filter((name) => name.startsWith(stagingPrefix));
  for (const hidden of others.map((name) => path.join(folder, name)))
    if (hidden !== mine && isLeftover(hidden, uid)) rmSync(hidden, { recursive: true, force: true });
}

/** Only if the folder names its process, and that process is known to have ended. */
function isLeftover(hidden: string, uid: number): boolean {
  try {
    const stat = lstatSync(hidden);
    if (!stat.isDirectory() || stat.uid !== uid) return false;
    const owner = JSON.parse(readFileSync(path.join(hidden, ownerFile), 'utf8')) as Partial<ProcessIdentity>;
    const { pid, start, host } = owner;
    if (pid === undefined || start === undefined || host === undefined) return false;
    return !inContainer(start) && livenessOf({ pid, start, host }) === 'dead';
  } catch {
    // Made or removed by another process just now.
    return false;
  }
}

/** Containers on one machine may share its name and this folder, but cannot see each other's processes. */
function inContainer(start: string): boolean {
  const [boot, space] = start.split('/');
  const [ourBoot, ourSpace] = (identifySelf()?.start ?? '').split('/');
  return boot === ourBoot && space !== ourSpace;
}

/** Opens a reader for an archive found inside another one. */
type OpenInner = (kind: ArchiveKind, name: string, sink: EntrySink) => ByteSink;

/**
 * Unpacks every inner archive into a folder of its name while its bytes arrive; other files stay files. One level
 * deep: archives in inner archives stay files.
 */
class NestedSink implements EntrySink {
  readonly #archive: string;
  readonly #sink: EntrySink;
  readonly #open: OpenInner;
  readonly #onPart: (part: SafePath) => void;
  #inner: ByteSink | undefined;
  #part: SafePath | undefined;

  /** `onPart` is called for every complete folder and file of the outer archive. */
  constructor(archive: string, sink: EntrySink, open: OpenInner, onPart: (part: SafePath) => void) {
    this.#archive = archive;
    this.#sink = sink;
    this.#open = open;
    this.#onPart = onPart;
  }

  begin(entry: FileEntry): void {
    const inner = splitArchiveName(entry.path);
    if (inner === undefined) {
      const refused = repacking(entry.path);
      if (refused !== undefined) throw mustRepack(entry.path, refused.program);
      this.#part = entry.path;
      this.#sink.begin(entry);
      return;
    }
    const folder = safePath(inner.stem, this.#archive, Infinity);
    this.#part = folder;
    this.#sink.place({ type: 'folder', path: folder, mode: 0o777, mtime: entry.mtime });
    this.#inner = this.#open(
      inner.kind,
      `${entry.path} in ${this.#archive}`,
      belowFolder(folder, this.#sink),
    );
  }

  data(piece: Buffer): MaybePromise {
    return this.#inner === undefined ? this.#sink.data(piece) : this.#inner.write(piece);
  }

  end(): MaybePromise {
    const inner = this.#inner;
    this.#inner = undefined;
    return andThen(inner === undefined ? this.#sink.end() : inner.end(), () => {
      if (this.#part !== undefined) this.#onPart(this.#part);
    });
  }

  place(entry: FolderEntry | SymlinkEntry | HardlinkEntry): void {
    this.#sink.place(entry);
  }

  amend(path: SafePath, mode: number): void {
    this.#sink.amend(path, mode);
  }

  /** Releases the inner archive being read, if any. */
  destroy(): void {
    this.#inner?.destroy();
  }
}

/** Puts every entry below one folder. */
function belowFolder(folder: SafePath, sink: EntrySink): EntrySink {
  return {
    begin: (entry) => sink.begin({ ...entry, path: joinSafe(folder, entry.path) }),
    data: (piece) => sink.data(piece),
    end: () => sink.end(),
    place(entry) {
      const path = joinSafe(folder, entry.path);
      if (entry.type === 'hardlink') sink.place({ ...entry, path, target: joinSafe(folder, entry.target) });
      else sink.place({ ...entry, path });
    },
    amend: (path, mode) => sink.amend(joinSafe(folder, path), mode),
  };
}

/** Discards all entries. */
const nothing: EntrySink = {
  begin: () => undefined,
  data: () => undefined,
  end: () => undefined,
  place: () => undefined,
  amend: () => undefined,
};

interface Inspection {
  name: string;
  mode: UnpackerOptions['mode'];
}

/** Reads an archive and writes nothing. */
function openInspector({ name, mode }: Inspection, sink: EntrySink): ByteSink {
  const inner: { destroy(): void }[] = [];
  const nested = new NestedSink(
    name,
    sink,
    (kind, innerName, innerSink) => {
      const { input } = openReader(kind, innerName, innerSink, defaultUnpackLimits);
      inner.push(input);
      return input;
    },
    () => undefined,
  );
  const outer = mode === 'nested' ? nested : sink;
  const declared = mode === 'auto' || mode === 'nested' ? undefined : mode;
  const open = (kind: ArchiveKind): ByteSink => openReader(kind, name, outer, defaultUnpackLimits).input;
  const gate = new KindGate(name, declared, open);
  return {
    write: (piece) => gate.write(piece),
    end: () => gate.end(),
    destroy() {
      gate.destroy();
      for (const one of inner) one.destroy();
    },
  };
}

/**
 * Reads the first bytes of an archive and returns why it cannot be unpacked, if they show it. Damage counts only if the
 * bytes are the `whole` archive: a beginning always looks cut.
 */
export async function inspectHead(
  head: Buffer,
  { whole, ...inspection }: Inspection & { whole: boolean },
): Promise<Fault | undefined> {
  const input = openInspector(inspection, nothing);
  try {
    await input.write(head);
    await input.end();
    return undefined;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return whole || error.kind !== 'archive-damaged' ? error : undefined;
  } finally {
    input.destroy();
  }
}

/** The number of files in an archive, as unpacking would count them; undefined once `isOver`. */
export async function countArchiveFiles(
  chunks: AsyncIterable<Buffer>,
  inspection: Inspection,
  isOver: () => boolean,
): Promise<number | undefined> {
  const files = new Set<string>();
  const input = openInspector(inspection, {
    ...nothing,
    begin: ({ path }) => void files.add(path),
    place({ type, path }) {
      if (type === 'hardlink') files.add(path);
      else files.delete(path);
    },
    amend(path, mode) {
      if (isLinkMode(mode)) files.delete(path);
    },
  });
  try {
    for await (const chunk of chunks) {
      if (isOver()) return undefined;
      await input.write(chunk);
    }
    await input.end();
    return files.size;
  } finally {
    input.destroy();
  }
}

/** Whether a web server answered with a page. */
export const isPage = (head: Buffer): boolean => detectText(head).other === pageText;
