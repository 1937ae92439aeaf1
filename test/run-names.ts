import { readdir } from 'node:fs/promises';
import path from 'node:path';

/** The names of the runs in a folder, without hidden files. */
export async function runNames(folder: string): Promise<string[]> {
  const names = await readdir(path.join(folder, 'runs')).catch(() => []);
  return names.filter((name) => !name.startsWith('.')).sort();
}
