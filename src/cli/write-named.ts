import { writeFile } from 'node:fs/promises';
import { errorReason } from '@updraft/base';
import { Fault } from '@updraft/account/fault';

/** The fault of a file or folder that a user named, and that cannot be written. */
export const cannotWrite = (target: string, cause: unknown, fix?: string): Fault =>
  new Fault('file-invalid', `${target} cannot be written: ${errorReason(cause)}`, {
    about: target,
    cause,
    fix,
  });

/** Writes a file that a user named. */
export async function writeNamed(target: string, content: string): Promise<void> {
  await writeFile(target, content).catch((error: unknown) => {
    throw cannotWrite(target, error, 'name a file in an existing folder that you can write to');
  });
}
