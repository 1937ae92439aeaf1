import { statfsSync } from 'node:fs';

/** Bytes a user may still write there; undefined if the file system does not report it. */
export function freeBytes(folder: string): number | undefined {
  try {
    const { blocks, bavail, bsize } = statfsSync(folder);
    return blocks === 0 ? undefined : bavail * bsize;
  } catch {
    return undefined;
  }
}
