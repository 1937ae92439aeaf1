import { type ArchiveKind, splitArchiveName } from '@updraft/base';
import {
  andThen,
  type ByteSink,
  type EntrySink,
  type FileEntry,
  type FolderEntry,
  type HardlinkEntry,
  type SymlinkEntry,
  type MaybePromise,
} from './entry.ts';
import { joinSafe, safePath, type SafePath } from './safe-path.ts';

/** Opens a reader for an archive found inside another one. */
export type OpenInner = (kind: ArchiveKind, name: string, sink: EntrySink) => ByteSink;

/**
 * Unpacks every inner archive into a folder of its name while its bytes arrive; other files stay files. One level
 * deep: archives in inner archives stay files.
 */
export class NestedSink implements EntrySink {
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
