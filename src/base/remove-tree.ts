import { chmodSync, lstatSync, readdirSync, rmdirSync, unlinkSync } from 'node:fs';
import path from 'node:path';
import { isGone } from './error-reason.ts';

/**
 * Removes a folder and all it holds, also what was made read-only, and tells how many bytes its files had. It goes
 * on past what cannot be removed and then throws the first such error, so that as little as possible stays.
 */
export function removeTree(folder: string): number {
  const problems: unknown[] = [];
  const bytes = removeFolder(folder, problems);
  if (problems.length > 0) throw problems[0];
  return bytes;
}

function removeFolder(folder: string, problems: unknown[]): number {
  let bytes = 0;
  try {
    chmodSync(folder, 0o700);
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const file = path.join(folder, entry.name);
      bytes += entry.isDirectory() ? removeFolder(file, problems) : removeFile(file, problems);
    }
    rmdirSync(folder);
  } catch (error) {
    if (!isGone(error)) problems.push(error);
  }
  return bytes;
}

function removeFile(file: string, problems: unknown[]): number {
  try {
    const { size } = lstatSync(file);
    unlinkSync(file);
    return size;
  } catch (error) {
    if (!isGone(error)) problems.push(error);
    return 0;
  }
}
