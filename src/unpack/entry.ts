import type { SafePath } from './safe-path.ts';

/** Nothing when the work is done already, otherwise the promise of its end. */
export type MaybePromise = void | Promise<void>;

/** Takes bytes piece by piece. A piece may be overwritten by its owner once `write` is done with it. */
export interface ByteSink {
  write(piece: Buffer): MaybePromise;
  /** No more bytes come; throws a Fault if more were needed. */
  end(): MaybePromise;
  /** Lets go of everything at once, without a word. */
  destroy(): void;
}

/** Goes on at once where nothing has to be waited for, so that the common path makes no promises. */
export function andThen(first: MaybePromise, next: () => MaybePromise): MaybePromise {
  return first === undefined ? next() : first.then(next);
}

export interface FileEntry {
  type: 'file';
  path: SafePath;
  mode: number;
  /** Seconds since the epoch. */
  mtime: number;
  /** Bytes stored; absent where the archive says it only after the data. */
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
  /** As written in the archive; whoever makes the link checks where it leads. */
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
  /** So many zeros of a sparse file, which need no room. */
  hole(bytes: number): MaybePromise;
  end(): MaybePromise;
  /** Something without bytes. */
  place(entry: FolderEntry | SymlinkEntry | HardlinkEntry): void;
  /** What some archives tell only at their end: the mode of a file, or that its bytes are a link's target. */
  amend(path: SafePath, mode: number): void;
}
