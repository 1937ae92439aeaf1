import { printable } from '@updraft/base';
import { Fault } from './fault.ts';

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
