import { open } from 'node:fs/promises';

/** Puts the names in a folder on the disk, so that files, not only their bytes, outlive a crash of the machine. */
export async function syncFolder(path: string): Promise<void> {
  await using folder = await open(path, 'r');
  await folder.sync().catch(ignoreUnsyncable);
}

/** Some network file systems and devices cannot sync; their bytes are as safe as they get. */
export function ignoreUnsyncable(error: NodeJS.ErrnoException): void {
  if (!['EINVAL', 'ENOTSUP', 'ENOSYS'].includes(error.code ?? '')) throw error;
}
