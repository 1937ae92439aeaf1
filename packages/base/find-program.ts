import { succeeds } from './error-reason.ts';
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import type { Env } from './env.ts';

/** The path of the first of these programs that is on the PATH. */
export async function findProgram(names: readonly string[], env: Env): Promise<string | undefined> {
  const folders = (env['PATH'] ?? '').split(':').filter((folder) => path.isAbsolute(folder));
  for (const name of names)
    for (const folder of folders) {
      const file = path.join(folder, name);
      const isThere = await succeeds(access(file, constants.X_OK));
      if (isThere) return file;
    }
  return undefined;
}

/** Whether a file with these first bytes is a program: a script with a `#!` line, or a binary of Linux. */
export const isProgram = (start: Uint8Array): boolean =>
  /^(?:#!|\u007fELF)/.test(String.fromCharCode(...start.subarray(0, 4)));
