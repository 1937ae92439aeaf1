import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../../fault/fault.ts';
import type { Cli } from '../cli.ts';
import { below, isUrl } from './object-name.ts';

/** One file to upload and the object it becomes. */
export interface PutItem {
  file: string;
  url: string;
}

/** Every file that is to be uploaded, and where to. */
export async function listUploads(
  cli: Cli,
  words: readonly string[],
  recursive: boolean,
): Promise<PutItem[]> {
  const url = words.at(-1) ?? '';
  const names = words.slice(0, -1);
  if (names.length === 0 || !isUrl(url))
    throw new Fault('usage', `"${url}" is no URL to upload to`, {
      about: url,
      fix: 'write the files first, then the URL: updraft put model.pt osdf:///PATH/model.pt',
    });
  const isFolder = names.length > 1 || (url.split('?', 1)[0] ?? '').endsWith('/');
  const items: PutItem[] = [];
  for (const name of names) {
    const file = path.resolve(cli.cwd, name);
    const to = isFolder ? below(url, path.basename(file)) : url;
    if (!(await isDirectory(file))) items.push({ file, url: to });
    else if (recursive) items.push(...(await filesBelow(file, to)));
    else
      throw new Fault('usage', `${name} is a folder`, {
        about: name,
        fix: 'say --recursive to upload all in it',
      });
  }
  return items;
}

async function filesBelow(folder: string, url: string): Promise<PutItem[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => !entry.isDirectory())
    .map((entry) => path.relative(folder, path.join(entry.parentPath, entry.name)))
    .sort();
  return files.map((name) => ({ file: path.join(folder, name), url: below(url, name) }));
}

async function isDirectory(file: string): Promise<boolean> {
  const info = await stat(file).catch((error: unknown) => {
    throw new Fault('file-invalid', `${file} cannot be read: ${(error as Error).message}`, {
      about: file,
      cause: error,
    });
  });
  return info.isDirectory();
}
