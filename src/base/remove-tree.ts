import { chmod, lstat, readdir, rmdir, unlink } from 'node:fs/promises';
import path from 'node:path';
import { isGone } from './error-reason.ts';

/** What was removed so far; folders are not counted. */
export interface Removed {
  files: number;
  bytes: number;
}

export interface RemoveOptions {
  /** Stops the removal, which then rejects with its reason. */
  signal?: AbortSignal;
  /** Called repeatedly while files are removed. */
  onProgress?: (removed: Readonly<Removed>) => void;
}

/** Files removed concurrently: keeps a slow disk busy without blocking the event loop. */
const maxParallel = 32;

/**
 * Removes a folder with its contents, even if read-only; of a link, the link only, even if it is the folder itself.
 * Continues past what cannot be removed, then throws the first such error.
 */
export async function removeTree(folder: string, options: RemoveOptions = {}): Promise<Removed> {
  const [removed, problems]: [Removed, unknown[]] = [{ files: 0, bytes: 0 }, []];
  await removeFolder(folder, { ...options, removed, problems });
  if (problems.length > 0) throw problems[0];
  return removed;
}

interface Removal extends RemoveOptions {
  removed: Removed;
  problems: unknown[];
}

async function removeFolder(folder: string, removal: Removal): Promise<void> {
  const attempt = async (): Promise<void> => {
    await chmod(folder, 0o700);
    const entries = await readdir(folder, { withFileTypes: true });
    const files = entries.filter((entry) => !entry.isDirectory());
    for (let from = 0; from < files.length; from += maxParallel) {
      removal.signal?.throwIfAborted();
      const some = files.slice(from, from + maxParallel);
      await Promise.all(some.map(({ name }) => removeFile(path.join(folder, name), removal)));
      removal.onProgress?.(removal.removed);
    }
    for (const entry of entries)
      if (entry.isDirectory()) await removeFolder(path.join(folder, entry.name), removal);
    await rmdir(folder);
  };
  const isLink = await lstat(folder).then(
    (at) => at.isSymbolicLink(),
    () => false,
  );
  await (isLink ? removeFile(folder, removal) : attempt()).catch((error: unknown) => {
    removal.signal?.throwIfAborted();
    if (!isGone(error)) removal.problems.push(error);
  });
}

async function removeFile(file: string, { removed, problems }: Removal): Promise<void> {
  try {
    const { size } = await lstat(file);
    await unlink(file);
    removed.files += 1;
    removed.bytes += size;
  } catch (error) {
    if (!isGone(error)) problems.push(error);
  }
}
