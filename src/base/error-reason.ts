import { stat } from 'node:fs/promises';

const reasons: Partial<Record<string, string>> = {
  EACCES: 'permission denied',
  EDQUOT: 'your quota on its disk is used up',
  EISDIR: 'it is a folder',
  ENOENT: 'there is no such file or folder',
  ENOSPC: 'no room is left on its disk',
  ENOTDIR: 'a part of its path is no folder',
  EPERM: 'the system does not permit it',
  EROFS: 'its file system can only be read',
};

/** Why a file could not be read or written, in words that need no knowledge of systems. */
export function errorReason(error: unknown): string {
  const { code = '', message = String(error) } = error as Partial<NodeJS.ErrnoException>;
  return reasons[code] ?? message;
}

/** Whether a file operation failed because the file or a folder above it is not there. */
export function isGone(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOENT' || code === 'ENOTDIR';
}

/** Whether there is anything under this path. */
export const isThere = (path: string): Promise<boolean> =>
  stat(path).then(
    () => true,
    () => false,
  );
