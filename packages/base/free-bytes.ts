import { statfsSync } from 'node:fs';
import { tried } from './error-reason.ts';

/** Bytes a user may still write there; undefined if the file system does not report it. */
export function freeBytes(folder: string): number | undefined {
  const { blocks = 0, bavail = 0, bsize = 0 } = tried(() => statfsSync(folder)) ?? {};
  return blocks === 0 ? undefined : bavail * bsize;
}
