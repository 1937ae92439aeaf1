import type { Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';
import { errorReason, isGone, nearest } from '@updraft/base';
import { sha256Of } from '@updraft/base/disk';
import { Fault } from '@updraft/account/fault';
import type { PlannedFile } from './plan.ts';

/** Why an entry of `train.files` cannot be sent. */
export class FileProblem extends Error {}

/**
 * The files that an entry names: itself, or all files in its folder, in a fixed order. Throws a `FileProblem` for an
 * entry that is missing, unreadable, neither file nor folder, or a link out of the folder.
 */
export async function listFiles(folder: string, entry: string): Promise<PlannedFile[]> {
  const found = await walk(await realpath(folder), entry, []);
  if (found.length === 0) throw new FileProblem(`"${entry}" is an empty folder; expected files to send`);
  return found;
}

async function walk(root: string, entry: string, above: readonly string[]): Promise<PlannedFile[]> {
  const real = await realpath(path.join(root, entry)).catch(async (error: unknown) => {
    throw new FileProblem(describeError(root, entry, error, await closeTo(root, entry)));
  });
  if (!`${real}/`.startsWith(`${root}/`))
    throw new FileProblem(`"${entry}" is a link to ${real}, outside the folder; copy the file into ${root}`);
  if (above.includes(real))
    throw new FileProblem(`"${entry}" is a link to a folder that contains it; remove the link`);
  const info = await stat(real);
  if (info.isFile()) return [{ path: entry, bytes: info.size, sha256: await hashFile(real, entry) }];
  if (!info.isDirectory()) throw new FileProblem(`"${entry}" is neither a file nor a folder`);
  const names = await readdir(real);
  const found: PlannedFile[] = [];
  for (const name of names.sort()) found.push(...(await walk(root, `${entry}/${name}`, [...above, real])));
  return found;
}

async function hashFile(file: string, entry: string): Promise<string> {
  try {
    return await sha256Of(file);
  } catch (error) {
    throw new FileProblem(`"${entry}" cannot be read (${error instanceof Error ? error.message : ''})`);
  }
}

/** What lies in the same folder under a similar name. */
async function closeTo(root: string, entry: string): Promise<string | undefined> {
  const folder = path.dirname(entry);
  const names = await readdir(path.join(root, folder)).catch(() => []);
  const close = nearest(path.basename(entry), names);
  return close === undefined ? undefined : path.join(folder, close);
}

function describeError(root: string, entry: string, error: unknown, close: string | undefined): string {
  const code = (error as NodeJS.ErrnoException).code;
  if (code !== 'ENOENT' && code !== 'ENOTDIR') return `"${entry}" cannot be read (${code ?? String(error)})`;
  const wildcard = /[*?[]/.test(entry) ? '; wildcards are not expanded, name the files or their folder' : '';
  const hint = close === undefined || wildcard !== '' ? '' : ` (did you mean "${close}"?)`;
  return `"${entry}" not found: ${path.join(root, entry)} does not exist${wildcard}${hint}`;
}

/** The stats of a path that the user named; undefined if it does not exist. Throws if access is denied. */
export async function statIfExists(file: string): Promise<Stats | undefined> {
  try {
    return await stat(file);
  } catch (error) {
    if (isGone(error)) return undefined;
    throw new Fault('file-invalid', `${file} cannot be read: ${errorReason(error)}`, {
      about: file,
      fix:
        (error as NodeJS.ErrnoException).code === 'ELOOP'
          ? 'find the loop with `ls -l`, or name the file that the link is meant for'
          : 'ask its owner to let you read it and the folders above it, or name another',
      cause: error,
    });
  }
}
