import { randomBytes } from 'node:crypto';
import { constants, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** To append to a file that strangers may have planted: a link in its place is an error, and never written through. */
export const appendHere = constants.O_APPEND | constants.O_CREAT | constants.O_WRONLY | constants.O_NOFOLLOW;

/** Writes a file, complete or not at all. A link in its place is replaced, and what it leads to stays. */
export async function replaceFile(
  file: string,
  content: string | Buffer,
  options: { mode?: number; flush?: boolean } = {},
): Promise<void> {
  const draft = path.join(path.dirname(file), `.updraft-${randomBytes(4).toString('hex')}.draft`);
  try {
    await writeFile(draft, content, { ...options, flag: 'wx' });
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}
