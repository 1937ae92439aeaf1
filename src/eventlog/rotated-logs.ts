import { stat } from 'node:fs/promises';

/** More rotations than any pool keeps. */
const mostRotations = 100;

/**
 * Where a log that was moved aside is now, found by its inode, followed by the logs that took its place and were
 * moved aside in their turn: oldest first. Empty if it is nowhere.
 */
export async function rotatedLogs(path: string, inode: number): Promise<string[]> {
  if ((await inodeOf(`${path}.old`)) === inode) return [`${path}.old`];
  const newer: string[] = [];
  for (let number = 1; number <= mostRotations; number++) {
    const name = `${path}.${number}`;
    const found = await inodeOf(name);
    if (found === undefined) return [];
    newer.unshift(name);
    if (found === inode) return newer;
  }
  return [];
}

async function inodeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).ino;
  } catch {
    return undefined;
  }
}
