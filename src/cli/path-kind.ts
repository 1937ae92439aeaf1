import { lookAt } from '../job/list-files.ts';

/** What a word of the user's names: files, pipes and devices are read; a folder may be a run's. */
export async function pathKind(file: string): Promise<'file' | 'folder' | undefined> {
  const found = await lookAt(file);
  return found === undefined ? undefined : found.isDirectory() ? 'folder' : 'file';
}
