import { open } from 'node:fs/promises';

/** Syncs a file, or the names in a folder, to disk: it survives a crash of the machine. */
export async function syncPath(path: string): Promise<void> {
  await using handle = await open(path, 'r');
  await handle.sync().catch(ignoreUnsyncable);
}

/** Some network file systems and devices cannot sync. */
export function ignoreUnsyncable(error: NodeJS.ErrnoException): void {
  if (!['EINVAL', 'ENOTSUP', 'ENOSYS'].includes(error.code ?? '')) throw error;
}
