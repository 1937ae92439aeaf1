import type { SafePath } from './safe-path.ts';

/** Undefined when the work is already done. */
export type MaybePromise = void | Promise<void>;

/** Takes bytes piece by piece. The caller may reuse a piece's buffer once `write` is done. */
export interface ByteSink {
  write(piece: Buffer): MaybePromise;
  /** There are no more bytes; throws a Fault if more were needed. */
  end(): MaybePromise;
  /** Releases everything immediately and never throws. */
  destroy(): void;
}

/** Continues synchronously if there is nothing to wait for: the common path creates no promises. */
export function andThen(first: MaybePromise, next: () => MaybePromise): MaybePromise {
  return first === undefined ? next() : first.then(next);
}

export interface FileEntry {
  type: 'file';
  path: SafePath;
  mode: number;
  /** Seconds since the epoch. */
  mtime: number;
  /** Absent if the archive states it only after the data. */
  size?: number;
}

export interface FolderEntry {
  type: 'folder';
  path: SafePath;
  mode: number;
  mtime: number;
}

export interface SymlinkEntry {
  type: 'symlink';
  path: SafePath;
  /** As written in the archive; FileWriter checks where it leads before it makes the link. */
  target: string;
}

export interface HardlinkEntry {
  type: 'hardlink';
  path: SafePath;
  target: SafePath;
}

/** Takes the entries of an archive in their order. */
export interface EntrySink {
  /** A file begins; its bytes follow through `data` until `end`. */
  begin(entry: FileEntry): void;
  data(piece: Buffer): MaybePromise;
  end(): MaybePromise;
  /** Something without bytes. */
  place(entry: FolderEntry | SymlinkEntry | HardlinkEntry): void;
  /** A zip states only at its end what a file's mode is, or that its bytes are a link's target. */
  amend(path: SafePath, mode: number): void;
}
