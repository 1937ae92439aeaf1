import { readdir, stat } from 'node:fs/promises';
import path from 'node:path';
import { Fault } from '../fault/fault.ts';

/** One file of a data set. */
export interface DataFile {
  /** Path below the data set's folder, with `/`. */
  name: string;
  file: string;
  bytes: number;
  modifiedMs: number;
  isExecutable: boolean;
}

/** Files that belong together: in one folder with the same name up to the first dot, as in WebDataset. */
export type Sample = DataFile[];

/** All files of a folder, sample by sample, in an order that depends only on their names; one folder in memory at a time. */
export async function* listSamples(folder: string, below = ''): AsyncGenerator<Sample> {
  const entries = await readFolder(folder);
  let sample: Sample = [];
  let sampleKey: string | undefined;
  for (const { name, isFolder } of entries) {
    const key = isFolder ? undefined : keyOf(name);
    if (sample.length > 0 && key !== sampleKey) {
      yield sample;
      sample = [];
    }
    sampleKey = key;
    const file = path.join(folder, name);
    if (isFolder) yield* listSamples(file, `${below}${name}/`);
    else sample.push(await describeFile(file, `${below}${name}`));
  }
  if (sample.length > 0) yield sample;
}

async function readFolder(folder: string): Promise<{ name: string; isFolder: boolean }[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((error: unknown) => {
    throw unreadable(folder, error);
  });
  // Files sort before a folder of the same key, so a sample is never split.
  const sortKey = ({ name, isFolder }: { name: string; isFolder: boolean }): string =>
    `${isFolder ? name : keyOf(name)}\0${isFolder ? '1' : '0'}\0${name}`;
  return entries
    .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }))
    .sort((a, b) => (sortKey(a) < sortKey(b) ? -1 : 1));
}

/** A link to a file counts as that file. */
export async function describeFile(file: string, name: string): Promise<DataFile> {
  const info = await stat(file).catch((error: unknown) => {
    throw unreadable(file, error);
  });
  if (!info.isFile())
    throw new Fault(
      'file-invalid',
      `${file} is ${info.isDirectory() ? 'a link to a folder' : 'not a regular file'}`,
      {
        about: file,
        fix: 'remove it from the data set, or put the files themselves there',
      },
    );
  const isExecutable = (info.mode & 0o100) !== 0;
  return { name, file, bytes: info.size, modifiedMs: info.mtimeMs, isExecutable };
}

const keyOf = (name: string): string => name.split('.', 1)[0] ?? '';

function unreadable(file: string, error: unknown): Fault {
  return new Fault('file-invalid', `${file} cannot be read: ${(error as Error).message}`, {
    about: file,
    cause: error,
  });
}
