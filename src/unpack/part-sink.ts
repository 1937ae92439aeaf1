import { andThen, type Waiting } from './byte-sink.ts';
import type { EntrySink, FileEntry, FolderEntry, HardlinkEntry, SymlinkEntry } from './entry.ts';
import type { SafePath } from './safe-path.ts';

/** Hands everything on, and tells of every file that is whole. */
export class PartSink implements EntrySink {
  readonly #sink: EntrySink;
  readonly #onPart: (part: SafePath) => void;
  #file: SafePath | undefined;

  constructor(sink: EntrySink, onPart: (part: SafePath) => void) {
    this.#sink = sink;
    this.#onPart = onPart;
  }

  begin(entry: FileEntry): void {
    this.#sink.begin(entry);
    this.#file = entry.path;
  }

  data(piece: Buffer): Waiting {
    return this.#sink.data(piece);
  }

  end(): Waiting {
    return andThen(this.#sink.end(), () => {
      if (this.#file !== undefined) this.#onPart(this.#file);
    });
  }

  place(entry: FolderEntry | SymlinkEntry | HardlinkEntry): void {
    this.#sink.place(entry);
    if (entry.type === 'hardlink') this.#onPart(entry.path);
  }

  amend(path: SafePath, mode: number): void {
    this.#sink.amend(path, mode);
  }
}
