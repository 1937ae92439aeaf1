import { mkdir, stat, symlink } from 'node:fs/promises';
import path from 'node:path';
import { removeTree } from '../../base/remove-tree.ts';
import { copyKept } from './store.ts';
import { keptName, type Whole } from './record.ts';

/**
 * Copies a kept checkpoint into the training's folder, which is empty before and, when something is wrong with it,
 * afterwards. Tells what is wrong; undefined when every byte is the one that was saved.
 */
export async function restoreGeneration(
  { folder, record }: Whole,
  into: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  for (const [index, file] of record.files.entries()) {
    const problem = await restoreFile(path.join(folder, keptName(index)), file, into, signal);
    if (problem === undefined) continue;
    removeTree(into);
    await mkdir(into, { recursive: true });
    return `${file.path} ${problem}`;
  }
  for (const [name, target] of Object.entries(record.links)) {
    await mkdir(path.dirname(path.join(into, name)), { recursive: true });
    await symlink(target, path.join(into, name));
  }
  return undefined;
}

async function restoreFile(
  kept: string,
  file: Whole['record']['files'][number],
  into: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const bytes = await stat(kept).then(
    ({ size }) => size,
    () => undefined,
  );
  if (bytes === undefined) return 'is missing';
  if (bytes !== file.bytes) return `has ${bytes} bytes instead of ${file.bytes}`;
  const target = path.join(into, file.path);
  await mkdir(path.dirname(target), { recursive: true });
  const sha256 = await copyKept(kept, target, signal);
  return sha256 === file.sha256 ? undefined : 'is damaged: its SHA-256 is not the one it was saved with';
}
