import path from 'node:path';
import type { ListedName, SubmitFiles } from './submit-files.ts';

/** Folders to list and names to test for one pattern; more would take too long. */
const maxLooks = 30_000;

/** The search would list too many folders or entries. */
class TooMany extends Error {}

/**
 * What a shell pattern matches, sorted, folders with a trailing slash. Undefined where a folder's entries are unknown
 * or too many.
 */
export function filesMatching(
  files: SubmitFiles,
  pattern: string,
  of: 'files' | 'dirs' | 'any',
): string[] | undefined {
  const search = new Search(files);
  try {
    const found = search.find(pattern);
    return found
      .filter(({ isFolder }) => of === 'any' || isFolder === (of === 'dirs'))
      .map(({ name, isFolder }) => (isFolder ? `${name}/` : name))
      .sort();
  } catch (error) {
    if (error instanceof TooMany) return undefined;
    throw error;
  }
}

class Search {
  readonly #files: SubmitFiles;
  #left = maxLooks;

  constructor(files: SubmitFiles) {
    this.#files = files;
  }

  find(pattern: string): ListedName[] {
    let found: ListedName[] = [{ name: pattern.startsWith('/') ? '/' : '', isFolder: true }];
    for (const part of pattern.split('/').filter((one) => one !== ''))
      found = found.flatMap((parent) => (parent.isFolder ? this.#below(parent.name, part) : []));
    return found;
  }

  #below(parent: string, part: string): ListedName[] {
    this.#spend(1);
    if (!/[*?[]/.test(part)) {
      const name = path.posix.join(parent, part);
      const fact = this.#files.stat(name);
      return fact === undefined || fact.kind === 'missing'
        ? []
        : [{ name, isFolder: fact.kind === 'folder' }];
    }
    const entries = this.#files.list(parent === '' ? '.' : parent);
    if (entries === undefined) throw new TooMany();
    this.#spend(entries.length);
    return entries
      .filter(({ name }) => matches(name, part))
      .map(({ name, isFolder }) => ({ name: path.posix.join(parent, name), isFolder }));
  }

  #spend(looks: number): void {
    this.#left -= looks;
    if (this.#left < 0) throw new TooMany();
  }
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
