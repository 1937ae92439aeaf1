import path from 'node:path';
import type { ListedName, SubmitFiles } from './submit-files.ts';

/** Folders to list and names to test for one pattern; more would take too long. */
const maxLooks = 30_000;

/**
 * What a shell pattern matches, sorted, folders with a trailing slash. Undefined where a folder's entries are unknown
 * or too many.
 */
export function filesMatching(
  files: SubmitFiles,
  pattern: string,
  of: 'files' | 'dirs' | 'any',
): string[] | undefined {
  let found: ListedName[] = [{ name: pattern.startsWith('/') ? '/' : '', isFolder: true }];
  let left = maxLooks;
  for (const part of pattern.split('/').filter((one) => one !== '')) {
    const isMatch = /[*?[]/.test(part) ? globTest(part) : undefined;
    const below: ListedName[] = [];
    for (const { name } of found.filter(({ isFolder }) => isFolder)) {
      const entries =
        isMatch === undefined ? entryOf(files, name, part) : files.list(name === '' ? '.' : name);
      left -= 1 + (entries?.length ?? 0);
      if (entries === undefined || left < 0) return undefined;
      const before = name === '' || name.endsWith('/') ? name : `${name}/`;
      for (const entry of entries)
        if (isMatch?.(entry.name) !== false) below.push({ ...entry, name: before + entry.name });
    }
    found = below;
  }
  return found
    .filter(({ isFolder }) => of === 'any' || isFolder === (of === 'dirs'))
    .map(({ name, isFolder }) => (isFolder ? `${name}/` : name))
    .sort();
}

function entryOf(files: SubmitFiles, folder: string, name: string): ListedName[] {
  const { kind = 'missing' } = files.stat(path.posix.join(folder, name)) ?? {};
  return kind === 'missing' ? [] : [{ name, isFolder: kind === 'folder' }];
}

/** Any text, or a test of one character. */
type Token = '*' | ((char: string) => boolean);

/**
 * As glob(3) does, in time bounded by the product of both lengths: Node's own never ends for `a*a*a*a*b`. The pattern is
 * read once, since a folder may have tens of thousands of names.
 */
function globTest(pattern: string): (name: string) => boolean {
  const tokens = (pattern.match(/\[!?\]?[^\]]*\]|\\?./gs) ?? []).map(tokenOf);
  const isHidden = pattern.startsWith('.');
  const last = tokens.at(-1);
  return (name) => {
    if (name.startsWith('.') && !isHidden) return false;
    if (last !== undefined && last !== '*' && !last(name.at(-1) ?? '')) return false;
    return matches(name, tokens);
  };
}

function matches(name: string, tokens: readonly Token[]): boolean {
  let [at, token, star, starAt] = [0, 0, -1, 0];
  while (at < name.length) {
    const wanted = tokens[token];
    if (wanted === '*') {
      [star, starAt] = [token, at];
      token += 1;
    } else if (wanted?.(name.charAt(at)) === true) {
      at += 1;
      token += 1;
    } else if (star >= 0) {
      token = star + 1;
      starAt += 1;
      at = starAt;
    } else return false;
  }
  while (tokens[token] === '*') token += 1;
  return token === tokens.length;
}

function tokenOf(text: string): Token {
  if (text === '*') return '*';
  if (text === '?') return () => true;
  const [, not, set] = /^\[(!?)(.+)\]$/s.exec(text) ?? [];
  if (set === undefined) {
    const wanted = text.replace(/^\\(?=.)/s, '');
    return (char) => char === wanted;
  }
  const ranges = set.match(/.-.|./gs) ?? [];
  return (char) =>
    ranges.some((range) => char >= (range[0] ?? '') && char <= (range.at(-1) ?? '')) !== (not === '!');
}
