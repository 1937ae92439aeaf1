import { type Dirent, opendirSync, type Stats, statSync } from 'node:fs';
import path from 'node:path';

/** Folder entries that may still be read. */
interface Budget {
  left: number;
}

/** Undefined where nothing is there, access is denied, or the name is not a valid path. */
export function statOf(file: string): Stats | undefined {
  try {
    return statSync(file);
  } catch {
    return undefined;
  }
}

/** A folder's entries, up to the budget; empty where it cannot be read. */
function* entriesOf(folder: string, budget: Budget): Generator<Dirent> {
  try {
    using open = opendirSync(folder);
    for (let entry = open.readSync(); entry !== null && budget.left > 0; entry = open.readSync()) {
      budget.left--;
      yield entry;
    }
  } catch {
    // Not a folder, or not ours to read.
  }
}

/** The bytes of the files in and below a folder, up to the budget. */
export function folderBytes(folder: string, budget: Budget): number {
  let bytes = 0;
  for (const entry of entriesOf(folder, budget)) {
    const full = path.join(folder, entry.name);
    if (entry.isDirectory()) bytes += folderBytes(full, budget);
    else bytes += statOf(full)?.size ?? 0;
  }
  return bytes;
}

/**
 * What a shell pattern matches, sorted, folders with a trailing slash. Undefined when finding it takes more than
 * `maxEntries` folder entries.
 */
export function filesMatching(
  folder: string,
  pattern: string,
  of: 'files' | 'dirs' | 'any',
  maxEntries: number,
): string[] | undefined {
  const budget = { left: maxEntries };
  const parts = pattern.split('/').filter((part) => part !== '');
  let found = [pattern.startsWith('/') ? '/' : ''];
  for (const part of parts) {
    const next: string[] = [];
    for (const parent of found)
      for (const name of namesLike(path.resolve(folder, parent), part, budget))
        next.push(path.join(parent, name));
    if (budget.left <= 0) return undefined;
    found = next;
  }
  const kinds = found.map((name) => ({ name, isFolder: isFolder(path.resolve(folder, name)) }));
  return kinds
    .filter((one) => of === 'any' || one.isFolder === (of === 'dirs'))
    .map(({ name, isFolder: slash }) => (slash ? `${name}/` : name))
    .sort();
}

function namesLike(folder: string, part: string, budget: Budget): string[] {
  if (!/[*?[]/.test(part)) {
    budget.left--;
    return statOf(path.join(folder, part)) === undefined ? [] : [part];
  }
  return [...entriesOf(folder, budget)].map(({ name }) => name).filter((name) => matches(name, part));
}

/** As glob(3) does, in time bounded by the product of both lengths: Node's own never ends for `a*a*a*a*b`. */
function matches(name: string, pattern: string): boolean {
  if (name.startsWith('.') && !pattern.startsWith('.')) return false;
  const tokens = pattern.match(/\[!?\]?[^\]]*\]|\\?./gs) ?? [];
  let [at, token, star, starAt] = [0, 0, -1, 0];
  while (at < name.length) {
    const wanted = tokens[token];
    if (wanted === '*') {
      [star, starAt] = [token++, at];
    } else if (wanted !== undefined && matchesOne(name[at] ?? '', wanted)) {
      [at, token] = [at + 1, token + 1];
    } else if (star >= 0) {
      [token, at] = [star + 1, ++starAt];
    } else return false;
  }
  return tokens.slice(token).every((rest) => rest === '*');
}

function matchesOne(char: string, token: string): boolean {
  if (token === '?') return true;
  const [, not, set] = /^\[(!?)(.+)\]$/s.exec(token) ?? [];
  if (set === undefined) return char === token.replace(/^\\(?=.)/s, '');
  const ranges = set.match(/.-.|./gs) ?? [];
  const isIn = ranges.some((range) => char >= (range[0] ?? '') && char <= (range.at(-1) ?? ''));
  return isIn !== (not === '!');
}

const isFolder = (file: string): boolean => statOf(file)?.isDirectory() === true;
