import { mkdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { unlessGone } from '@updraft/base';
import { replaceFile } from '@updraft/base/disk';

/** Texts by name, such as `templates/minimal/train.py`. */
export type Assets = Readonly<Record<string, string>>;

/** `src` in a checkout, `lib` in the package; what is not code is beside it in both. */
const sources = path.dirname(import.meta.dirname);

let loadEmbedded: (() => Promise<Assets>) | undefined;

/** For the one-file executable, which has no files beside its code. Loaded when the first one is read. */
export function embedAssets(load: () => Promise<Assets>): void {
  loadEmbedded = load;
}

/** A file that comes with the program, named by its path in the repository; undefined if there is none. */
export async function readAsset(name: string): Promise<string | undefined> {
  if (loadEmbedded !== undefined) return (await loadEmbedded())[name];
  return await unlessGone(readFile(installedPath(name), 'utf8'));
}

/** The path of such a file for other programs to open: in the executable, a copy of it in `folder`. */
export async function assetFile(name: string, folder: string): Promise<string> {
  if (loadEmbedded === undefined) return installedPath(name);
  const copy = path.join(folder, path.basename(name));
  await mkdir(folder, { recursive: true });
  // Another process may be reading the old one.
  await replaceFile(copy, (await loadEmbedded())[name] ?? '');
  return copy;
}

const installedPath = (name: string): string =>
  path.join(path.dirname(sources), name.replace(/^src\b/, path.basename(sources)));
