import { open } from 'node:fs/promises';

/** Syncs the names in a folder to disk, so that files survive a crash of the machine. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync().catch(ignoreUnsyncable);
}

/** Some network file systems and devices cannot sync. */
export function ignoreUnsyncable(error: NodeJS.ErrnoException): void {
  if (!['EINVAL', 'ENOTSUP', 'ENOSYS'].includes(error.code ?? '')) throw error;
}
