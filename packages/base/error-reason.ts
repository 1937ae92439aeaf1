import { readFile, stat } from 'node:fs/promises';

const reasons: Partial<Record<string, string>> = {
  EACCES: 'permission denied',
  EDQUOT: 'disk quota exceeded',
  EISDIR: 'it is a folder',
  ELOOP: 'its symbolic links lead back to themselves',
  ENOENT: 'no such file or folder',
  ENOSPC: 'no space left on its disk',
  ENOTDIR: 'not a directory',
  EPERM: 'operation not permitted',
  EROFS: 'its file system is read-only',
};

/** Why a file could not be read or written, in plain words. */
export function errorReason(error: unknown): string {
  const { code = '', message = String(error) } = error as Partial<NodeJS.ErrnoException>;
  return reasons[code] ?? message;
}

/** Whether a file operation failed because the file or a folder above it does not exist. */
export function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** What the operation gives; undefined if the file or a folder above it does not exist. */
export const unlessGone = <T>(operation: Promise<T>): Promise<T | undefined> =>
  operation.catch((error: unknown) => {
    if (!isGone(error)) throw error;
    return undefined;
  });

/** Whether the promise is fulfilled. */
export const succeeds = (promise: Promise<unknown>): Promise<boolean> =>
  promise.then(
    () => true,
    () => false,
  );

/** Whether the path exists. */
export const isThere = (path: string): Promise<boolean> => succeeds(stat(path));

/** The size of a file on this machine; undefined for anything else. */
export async function fileSize(path: string): Promise<number | undefined> {
  const info = await stat(path).catch(() => undefined);
  return info?.isFile() === true ? info.size : undefined;
}

/** The value, or undefined if it cannot be had. */
export function tried<T>(get: () => T): T | undefined {
  try {
    return get();
  } catch {
    return undefined;
  }
}

/** The text of a plain file. In somebody else's folder, a pipe or a device may have its name, and never end. */
export async function readPlainFile(file: string): Promise<string> {
  if (!(await stat(file)).isFile()) throw new Error(`${file} is not a file`);
  return await readFile(file, 'utf8');
}

/** What a JSON file holds; undefined if it cannot be read. */
export const readJsonFile = async <T>(file: string): Promise<T | undefined> =>
  (await readPlainFile(file)
    .then(JSON.parse)
    .catch(() => undefined)) as T | undefined;
