import { lstat, readdir } from 'node:fs/promises';
import path from 'node:path';
import { unlessGone } from './error-reason.ts';

/** Something below a folder. */
export interface TreeEntry {
  /** Its path below the folder, with `/`. */
  name: string;
  kind: 'file' | 'folder' | 'link' | 'other';
}

/**
 * Everything below a folder, by name. Links are listed and never followed, except the folder itself if it is one.
 * The only walk to use: `readdir` with `recursive` follows links, to different extents in Node and in Bun, and what
 * is found is then sent, served or removed.
 */
export async function walkTree(folder: string): Promise<TreeEntry[]> {
  const found: TreeEntry[] = [];
  const folders = [''];
  for (let below = folders.pop(); below !== undefined; below = folders.pop()) {
    const reading = readdir(path.join(folder, below), { withFileTypes: true });
    // A folder that disappears meanwhile has nothing in it; one whose name is not UTF-8 only seems to have disappeared.
    const mustBe = below === '' || below.includes('\ufffd');
    for (const entry of (await (mustBe ? reading : unlessGone(reading))) ?? []) {
      const name = path.posix.join(below, entry.name);
      // Some file systems do not say what an entry is.
      const facts = kindOf(entry) === 'other' ? await unlessGone(lstat(path.join(folder, name))) : entry;
      if (facts === undefined) continue;
      const kind = kindOf(facts);
      found.push({ name, kind });
      if (kind === 'folder') folders.push(name);
    }
  }
  return found.sort((one, other) => (one.name < other.name ? -1 : 1));
}

/** The names of the regular files below a folder. */
export async function walkFiles(folder: string): Promise<string[]> {
  return (await walkTree(folder)).flatMap(({ name, kind }) => (kind === 'file' ? [name] : []));
}

type Kinds = Record<'isFile' | 'isDirectory' | 'isSymbolicLink', () => boolean>;

function kindOf(entry: Kinds): TreeEntry['kind'] {
  if (entry.isSymbolicLink()) return 'link';
  return entry.isDirectory() ? 'folder' : entry.isFile() ? 'file' : 'other';
}
