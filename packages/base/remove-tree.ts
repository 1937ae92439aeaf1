import { chmod, lstat, readdir, readFile, realpath, rmdir, unlink } from 'node:fs/promises';
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
 * Removes a folder with its contents, even if read-only; of a link, the link only, even if it is the folder itself;
 * nothing of what is mounted in it. Continues past what cannot be removed, then throws the first such error.
 */
export async function removeTree(folder: string, options: RemoveOptions = {}): Promise<Removed> {
  const [removed, problems]: [Removed, unknown[]] = [{ files: 0, bytes: 0 }, []];
  await removeFolder(folder, { ...options, removed, problems, mounts: await mountsIn(folder) });
  if (problems.length > 0) throw problems[0];
  return removed;
}

interface Removal extends RemoveOptions {
  removed: Removed;
  problems: unknown[];
  mounts: Set<string>;
}

/** Where in a folder something is mounted. It may be a folder of the same disk, so devices need not differ. */
async function mountsIn(folder: string): Promise<Set<string>> {
  const real = await realpath(folder).catch(() => folder);
  const lines = (await readFile('/proc/self/mountinfo', 'utf8').catch(() => '')).split('\n');
  // Spaces and the like are in octal.
  const unescaped = (_: string, octal: string): string => String.fromCharCode(Number.parseInt(octal, 8));
  const points = lines.map((line) => line.split(' ')[4]?.replaceAll(/\\(\d{3})/g, unescaped) ?? '');
  const inside = points.filter((point) => `${point}/`.startsWith(`${real}/`));
  return new Set(inside.map((point) => path.join(folder, point.slice(real.length))));
}

async function removeFolder(folder: string, removal: Removal): Promise<void> {
  const attempt = async (): Promise<void> => {
    if (removal.mounts.has(path.join(folder)))
      throw new Error(`something is mounted at ${folder}: unmount it first`);
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
