import { mkdir } from 'node:fs/promises';

/** Makes a folder whose parent exists: unlike a recursive `mkdir`, it never brings back a parent that was removed. */
export async function ensureFolder(folder: string): Promise<void> {
  await mkdir(folder).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  });
}
