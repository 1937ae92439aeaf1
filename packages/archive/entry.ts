import { printable } from '@updraft/base';
import { Fault } from './fault.ts';

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

declare const safe: unique symbol;
/**
 * A relative path that stays inside whatever folder it is joined to: no `..`, no leading slash, no empty or
 * oversized part. The empty path is that folder itself.
 */
export type SafePath = string & { readonly [safe]: true };

/** Linux's limits; the one for paths leaves space for the target folder. */
const maxBytesInName = 255;
const maxBytesInPath = 3072;

/** Names may contain line breaks and control characters; messages show them on one line. */
export const quoted = (name: string): string => printable(JSON.stringify(name));

/** Checks a name from an archive; `archive` is for the message. */
export function safePath(name: string, archive: string, maxDepth: number): SafePath {
  const wrong = problemWith(name);
  if (wrong !== undefined) throw unsafe(archive, name, wrong);
  const parts = name.split('/').filter((part) => part !== '' && part !== '.');
  if (parts.length > maxDepth) throw unsafe(archive, name, `is more than ${maxDepth} folders deep`);
  for (const part of parts) {
    if (part === '..') throw unsafe(archive, name, 'leaves its folder with ".."');
    if (part.length * 3 > maxBytesInName && Buffer.byteLength(part) > maxBytesInName)
      throw unsafe(archive, name, `has a part longer than ${maxBytesInName} bytes`);
  }
  return parts.join('/') as SafePath;
}

export function joinSafe(folder: SafePath, path: SafePath): SafePath {
  if (folder === '') return path;
  return (path === '' ? folder : `${folder}/${path}`) as SafePath;
}

/** The root is its own parent. */
export function parentOf(path: SafePath): SafePath {
  const slash = path.lastIndexOf('/');
  return (slash === -1 ? '' : path.slice(0, slash)) as SafePath;
}

function problemWith(name: string): string | undefined {
  if (name === '') return 'has no name';
  if (name.startsWith('/')) return 'is an absolute path';
  if (/^[A-Za-z]:(?:[\\/]|$)/.test(name)) return 'begins with a drive letter';
  if (name.includes('\0')) return 'has a zero byte in its name';
  if (name.length * 3 > maxBytesInPath && Buffer.byteLength(name) > maxBytesInPath)
    return `is longer than ${maxBytesInPath} bytes`;
  return undefined;
}

function unsafe(archive: string, name: string, wrong: string): Fault {
  const shown = name.length > 200 ? `${name.slice(0, 200)}…` : name;
  return new Fault('archive-unsafe', `${archive}: the entry ${quoted(shown)} ${wrong}`, {
    about: archive,
    fix: 'repack with relative names, from inside the folder: tar -cf data.tar -C FOLDER .',
  });
}
