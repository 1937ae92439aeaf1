import { readdirSync, readFileSync, readlinkSync } from 'node:fs';
import path from 'node:path';

/** The files in a folder that one of the processes has open for writing, by their path in it. */
export function openForWriting(pids: readonly number[], folder: string): Set<string> {
  const found = new Set<string>();
  for (const pid of pids)
    for (const descriptor of quietly(() => readdirSync(`/proc/${pid}/fd`)) ?? []) {
      const file = quietly(() => readlinkSync(`/proc/${pid}/fd/${descriptor}`));
      if (file?.startsWith(folder + path.sep) === true && writes(pid, descriptor))
        found.add(path.relative(folder, file));
    }
  return found;
}

function writes(pid: number, descriptor: string): boolean {
  const info = quietly(() => readFileSync(`/proc/${pid}/fdinfo/${descriptor}`, 'utf8')) ?? '';
  const flags = Number.parseInt(/^flags:\s*([0-7]+)/m.exec(info)?.[1] ?? '0', 8);
  // The lowest two bits: 0 reads, 1 writes, 2 does both.
  return (flags & 3) !== 0;
}

/** A process may end while it is looked at, or be another user's. */
function quietly<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}
