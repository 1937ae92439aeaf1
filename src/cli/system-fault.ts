import path from 'node:path';
import { errorReason } from '../base/error-reason.ts';
import { Fault } from '../fault/fault.ts';

/** What the file system refuses is the machine's doing, not a mistake of ours; undefined for anything else thrown. */
export function systemFault(thrown: unknown): Fault | undefined {
  if (!(thrown instanceof Error) || thrown instanceof Fault) return undefined;
  const { code = '', path: file, syscall = '' } = thrown as NodeJS.ErrnoException;
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return new Fault('disk-full', `${file ?? 'a file'} cannot be written: ${errorReason(thrown)}`, {
      about: file ?? syscall,
      fix: 'see which disk is full with `df -h . ~ /tmp`, free some space, and run the same command again',
      cause: thrown,
    });
  if (file === undefined || !['EACCES', 'EPERM', 'EROFS'].includes(code)) return undefined;
  return new Fault('file-invalid', `${file}: ${errorReason(thrown)} (${syscall})`, {
    about: file,
    fix: `see who owns ${path.dirname(file)} with \`ls -ld\`; run this as that user, or in a folder of your own`,
    cause: thrown,
  });
}
