import { stat } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { problemAt, type SourceFile, type SpecProblem } from './source-file.ts';
import type { DataSource } from './spec.ts';

export interface DataPlaces {
  /** Folder of the job file. */
  folder: string;
  home: string | undefined;
}

/** Makes the paths of a data source absolute; what is not on this machine but should be is added to `problems`. */
export async function resolveData(
  data: DataSource,
  source: SourceFile,
  { folder, home }: DataPlaces,
  problems: SpecProblem[],
): Promise<DataSource> {
  if (/^file:/i.test(data.url) && !(await isFile(localPath(data.url)))) {
    const message = `${data.url} is not there; expected a file of this machine, like "file:///home/me/data.tar"`;
    problems.push(problemAt(source, ['data', data.name, 'url'], message));
  }
  if (data.tokenFile === undefined) return data;
  const plain = home === undefined ? data.tokenFile : data.tokenFile.replace(/^~(?=\/)/, () => home);
  const tokenFile = path.resolve(folder, plain);
  if (!(await isFile(tokenFile))) {
    const message = `${tokenFile} is not there; expected a file with the token`;
    problems.push(problemAt(source, ['data', data.name, 'token_file'], message));
  }
  return { ...data, tokenFile };
}

/** The sizes of the data sources that are files of this machine, by their names. */
export async function bytesHere(data: readonly DataSource[]): Promise<Map<string, number>> {
  const sizes = new Map<string, number>();
  for (const { name, url } of data) {
    const file = /^file:/i.test(url) ? localPath(url) : undefined;
    const found = file === undefined ? undefined : await stat(file).catch(() => undefined);
    if (found?.isFile() === true) sizes.set(name, found.size);
  }
  return sizes;
}

/** The size of a file of this machine; 0 for everything else. */
export async function fileBytes(file: string | undefined, folder: string): Promise<number> {
  const found =
    file === undefined ? undefined : await stat(path.resolve(folder, file)).catch(() => undefined);
  return found?.isFile() === true ? found.size : 0;
}

/** Undefined for what names another host, which is no file of ours. */
function localPath(url: string): string | undefined {
  try {
    return fileURLToPath(url);
  } catch {
    return undefined;
  }
}

async function isFile(file: string | undefined): Promise<boolean> {
  if (file === undefined) return false;
  const info = await stat(file).catch(() => undefined);
  return info?.isFile() === true;
}
